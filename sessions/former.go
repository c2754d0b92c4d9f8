package sessions

import (
	"slices"
	"strings"
)

// Stores of former versions say less about the results of tools than [Message.Origins] does
// today, so there the name of a tool has to tell. These names are those of that time. No tool
// of today has to be added: what its results are, it says where it is declared.

// formerOrigins are whose words the results of tools are in transcripts of versions that
// stored no origins.
var formerOrigins = map[string]Origin{
	"web_fetch": OriginWeb, "read_file": OriginFile, "list_dir": OriginFile, formerSent: OriginFile,
	"time": OriginModel, "write_file": OriginModel, "remember": OriginModel, "forget": OriginModel, "recall": OriginMemory,
}

// The tools whose results were copies when their origins did not say so.
const (
	formerHistory = "search_history"
	formerSent    = "read_attachment"
)

// formerOrigin is whose words the result of the tool called name is, if nothing says so.
func formerOrigin(name string) Origin {
	if o, known := formerOrigins[name]; known {
		return o
	}
	if server, _, borrowed := strings.Cut(name, "__"); borrowed {
		return OriginMCP(server)
	}
	return OriginOthers
}

// IsFound reports whether m is what a tool has found in its own conversation. No search finds
// it, because such copies would soon outrank the messages: see engine.Store.SearchAll.
func (m *Message) IsFound() bool {
	return m.Role == RoleTool && (m.Name == formerHistory || slices.Contains(m.Origins, OriginHistory))
}

// IsCopy reports whether m is what a tool has found in its own conversation, or a file that was
// sent in it. An erasure of anybody's messages in that conversation erases it, too.
func (m *Message) IsCopy() bool {
	return m.IsFound() || m.Role == RoleTool && (m.Name == formerSent || slices.Contains(m.Origins, OriginSent))
}

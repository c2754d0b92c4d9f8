package sessions

import (
	"slices"
	"strings"

	"dragoman/channels"
)

// Origin says whose words something is that a model is shown: one of these, or that of a
// named server, hook or skill. It decides what a call of a tool may lead to, and is never
// shown to a model.
type Origin = channels.Origin

// The origins. Those before others are trusted as far as the person who asks is, and taint
// nothing.
const (
	OriginPerson Origin = "person" // the speaker's own words
	OriginModel  Origin = "model"  // what the model wrote, or Dragoman itself
	OriginMemory Origin = "memory" // a remembered fact; whose words it was is beside it
	// What is copied from the conversation itself: messages that were found in it, and a file
	// that was sent in it. Whose words these are is beside it: see [Message.IsCopy].
	OriginHistory Origin = "history"
	OriginSent    Origin = "sent"

	OriginOthers Origin = "others" // other members of the chat, forwarded, quoted, imported
	OriginWeb    Origin = "web"
	OriginFile   Origin = channels.OriginFile
)

const (
	originMCP   = "mcp:"
	originHook  = "hook:"
	originSkill = "skill:"
)

// OriginMCP is what a tool of that MCP server returned.
func OriginMCP(server string) Origin { return Origin(originMCP + server) }

// OriginHook is what a webhook of that name brought.
func OriginHook(name string) Origin { return Origin(originHook + name) }

// OriginSkill is the text of a skill. hash says which version of it.
func OriginSkill(name, hash string) Origin { return Origin(originSkill + name + "@" + hash) }

// Taint is a set of origins, without those that taint nothing. The zero value is empty:
// clean. An empty one takes no memory beside itself.
type Taint struct {
	plain uint8    // a bit for each of plainOrigins
	named []Origin // the others, sorted, each once
}

// plainOrigins are the origins with a bit, in the order of List.
var plainOrigins = [...]Origin{OriginOthers, OriginWeb, OriginFile}

// trustedOrigins taint nothing.
var trustedOrigins = [...]Origin{"", OriginPerson, OriginModel, OriginMemory, OriginHistory, OriginSent}

// TaintOf is the taint of these origins.
func TaintOf(origins ...Origin) (t Taint) {
	t.Add(origins...)
	return t
}

// Add adds origins to t.
func (t *Taint) Add(origins ...Origin) {
	for _, o := range origins {
		if slices.Contains(trustedOrigins[:], o) {
			continue
		}
		if bit := slices.Index(plainOrigins[:], o); bit >= 0 {
			t.plain |= 1 << bit
			continue
		}
		at, found := slices.BinarySearch(t.named, o)
		if !found {
			t.named = slices.Insert(slices.Clip(t.named), at, o)
		}
	}
}

// AddMessage adds what m brings in whoever asks. That the words of another member of a
// shared chat are OriginOthers is for the caller to know: it depends on who asks.
func (t *Taint) AddMessage(m *Message) {
	switch {
	case len(m.Origins) > 0:
		t.Add(m.Origins...)
	case m.Synthetic: // Dragoman's own words
	case m.Role == RoleTool:
		t.Add(formerOrigin(m.Name))
	case m.Summary:
		t.Add(OriginOthers)
	}
	t.addVia(m.Via)
}

// addVia adds what words are that came through via.
func (t *Taint) addVia(via channels.Via) {
	switch {
	case via == channels.ViaChat:
	case via == channels.ViaOthers, via == channels.ViaReply:
		t.Add(OriginOthers)
	case via.Hook() != "":
		t.Add(OriginHook(via.Hook()))
	}
}

// Taint is that of all that s summarises, as far as it does not depend on who asks.
func (s *Summary) Taint() Taint {
	switch {
	case strings.TrimSpace(s.Text) == "":
		return Taint{} // it is never shown
	case len(s.Origins) == 0:
		return TaintOf(OriginOthers)
	}
	return TaintOf(s.Origins...)
}

// Merge adds what is in o.
func (t *Taint) Merge(o Taint) {
	t.plain |= o.plain
	t.Add(o.named...)
}

// IsClean reports whether t is empty.
func (t Taint) IsClean() bool { return t.plain == 0 && len(t.named) == 0 }

// List returns the origins in t, always in the same order; nil for none.
func (t Taint) List() (origins []Origin) {
	for bit, o := range plainOrigins {
		if t.plain&(1<<bit) != 0 {
			origins = append(origins, o)
		}
	}
	return append(origins, t.named...)
}

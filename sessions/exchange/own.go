package exchange

import (
	"encoding/json"
	"fmt"
)

// errOwnStore: what is to be imported is a file out of a store of ours. One
// such file holds only a part of a conversation, and what is missing would be
// missed by nobody until it is gone.
var errOwnStore = fmt.Errorf("%w: it is a file from a Dragoman store, which cannot be imported alone: "+
	"copy the whole store with dragoman sessions migrate, or export the conversations with dragoman sessions export and import the result", ErrFormat)

// isStoreFile tells a document of the file store, its index and what belongs
// to no conversation from documents of others, by what is written beside the
// messages. A document of ours that an older version took in carries these
// fields too, but its messages are numbered.
func isStoreFile(f fieldSet) bool {
	return isNumber(f["format"]) && isNumber(f["lsn"]) && f["message_seq"] == nil
}

func isNumber(raw json.RawMessage) bool {
	var n float64
	return raw != nil && json.Unmarshal(raw, &n) == nil
}

// isArchive tells a line of the file store's archive, which has one field, from
// a record, of which some have the same names.
func isArchive(fields map[string]json.RawMessage) bool {
	if len(fields) != 1 {
		return false
	}
	for name, value := range fields {
		switch name {
		case "message", "head":
			return len(value) > 0 && value[0] == '{'
		case "summaries":
			return isList(value)
		case "inbox": // of the store's own, with the number that it gave
			var row struct {
				ID json.RawMessage `json:"id"`
			}
			return json.Unmarshal(value, &row) == nil && isNumber(row.ID)
		}
	}
	return false
}

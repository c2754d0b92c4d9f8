package exchange

import (
	"encoding/json"
	"fmt"
)

// errOwnStore: somebody imports a file of one of our stores. It has only a part of a
// conversation, and the lack of the rest would not be noticed until it is too late.
var errOwnStore = fmt.Errorf("%w: it is a file from a Dragoman store, which cannot be imported alone: "+
	"copy the whole store with dragoman sessions migrate, or export the conversations with dragoman sessions export and import the result", ErrFormat)

// isStoreFile recognizes files of the file store: documents, the index, and records
// of no conversation. Their fields may also be in an export of ours, if an older
// version imported such a file; but exports number their messages.
func isStoreFile(f fieldSet) bool {
	return isNumber(f["format"]) && isNumber(f["lsn"]) && f["message_seq"] == nil
}

func isNumber(raw json.RawMessage) bool {
	var n float64
	return raw != nil && json.Unmarshal(raw, &n) == nil
}

// isArchive recognizes a line of the file store's archive, which has one field.
// Some records have the same names.
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

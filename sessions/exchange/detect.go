package exchange

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// detect looks at the first line that is not empty, and returns a reader that
// begins with it.
func detect(in *bufio.Reader) (Format, io.Reader, error) {
	if b, _ := in.Peek(len(sqliteMagic)); string(b) == sqliteMagic {
		return Goose, in, nil
	}
	var first []byte
	var err error
	for len(bytes.TrimSpace(first)) == 0 && err == nil {
		first, err = readLine(in, MaxLine)
	}
	if errors.Is(err, errLong) {
		err = nil // a document without line breaks
	}
	if err != nil && err != io.EOF {
		return "", nil, fmt.Errorf("exchange: read: %w", err)
	}
	if len(bytes.TrimSpace(first)) == 0 {
		return "", nil, fmt.Errorf("exchange: read: %w: the file is empty", ErrFormat)
	}
	rest := io.MultiReader(bytes.NewReader(first), in)
	format, err := classify(bytes.TrimSpace(first))
	return format, rest, err
}

// sqliteMagic is how every SQLite file begins.
const sqliteMagic = "SQLite format 3\x00"

func classify(line []byte) (Format, error) {
	switch line[0] {
	case '[':
		return JSON, nil // which documents and lists share
	case '{':
	default:
		return "", fmt.Errorf("exchange: read: %w: neither JSON, JSON lines nor a SQLite database", ErrFormat)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil {
		return JSON, nil // it continues in the next line
	}
	if len(fields) == 1 && (isRecord(fields) || isArchive(fields)) {
		return JSONL, nil // which refuses an archive with the reason
	}
	if fields["role"] == nil && isList(fields["messages"]) {
		return JSON, nil
	}
	if fields["messageType"] != nil {
		return Sentinel, nil
	}
	if fields["role"] != nil || isMeta(fields) {
		return PicoClawLines, nil
	}
	return JSON, nil
}

var recordNames = sync.OnceValue(rules.NamesOf[sessions.Record])

func isRecord(fields map[string]json.RawMessage) bool {
	for name, value := range fields {
		return recordNames()[name] && value[0] == '{'
	}
	return false
}

func isList(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '[' }

// isMeta distinguishes the metadata line of a log from a document without messages.
func isMeta(fields map[string]json.RawMessage) bool {
	for _, name := range []string{"skip", "count", "created_at", "updated_at"} {
		if fields[name] != nil {
			return true
		}
	}
	return fields["key"] != nil && fields["messages"] == nil
}

package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// maxFrame bounds one message of a server.
	maxFrame = 1 << 20
	// maxDepth bounds how deep a message may be nested: decoders take memory for each level.
	maxDepth = 100
	// maxValues and maxObjects bound what a message may be made of: of a message of tiny
	// values decoders make a hundred times as many bytes.
	maxValues  = 50_000
	maxObjects = 20_000
	// maxUnasked bounds what a server says or asks by itself, and its name for that.
	maxUnasked = 64 << 10
	maxID      = 256
	// unaskedPerSecond is how many notes and questions of a server are passed on.
	unaskedPerSecond = 20
)

// What ends a connection. A server's own words are in none of them.
var (
	errFrame = fmt.Errorf("it sent a message of more than %d KiB", maxFrame>>10)
	errJSON  = errors.New("it sent a message that is no JSON")
	errDepth = fmt.Errorf("it sent a message that is nested more than %d deep", maxDepth)
	errMany  = fmt.Errorf("it sent a message of more than %d values or %d objects", maxValues, maxObjects)
)

// faults are what can be wrong with what a server sends.
var faults = []error{errFrame, errDepth, errMany, errJSON, errBody, errLines}

// weigh is why a message must not be decoded; nil: it may be. It need not be JSON.
func weigh(message []byte) error {
	depth := 0
	values := 0
	objects := 0
	inText := false
	for i := 0; i < len(message); i++ {
		switch c := message[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
			values++
			if c == '{' {
				objects++
			}
		case c == '}' || c == ']':
			depth--
		case c == ',':
			values++
		}
		switch {
		case depth > maxDepth:
			return errDepth
		case values > maxValues || objects > maxObjects:
			return errMany
		}
	}
	return nil
}

// gate is what all messages of one server pass before the library reads them. Notes for a log
// are dropped, and others if there are too many, because a server may send thousands, and the
// library keeps a place for each. It is safe for concurrent use.
type gate struct {
	mu     sync.Mutex
	second time.Time
	count  int
}

// pass is a message as the library gets it; nil: it is dropped. An error ends the connection.
func (g *gate) pass(message []byte) ([]byte, error) {
	if err := weigh(message); err != nil {
		return nil, err
	}
	if !json.Valid(message) {
		return nil, errJSON // the library would wait for more
	}
	var parts map[string]json.RawMessage // like the library, and unlike structs, strict with letters
	if json.Unmarshal(message, &parts) != nil {
		return nil, errJSON
	}
	if _, asks := parts["method"]; !asks {
		return message, nil // an answer
	}
	unasked, ok := unaskedOf(parts)
	if !ok || !g.hasRoom() {
		return nil, nil
	}
	return encode(unasked)
}

// hasRoom counts what a server says by itself.
func (g *gate) hasRoom() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if now.Sub(g.second) >= time.Second {
		g.second = now
		g.count = 0
	}
	g.count++
	return g.count <= unaskedPerSecond
}

// unasked is a note or question of a server.
type unasked struct {
	Version json.RawMessage `json:"jsonrpc,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// unaskedOf is a note or question with the params that are needed here, because the library
// decodes all of them, and not with care; not ok: nobody needs it.
func unaskedOf(parts map[string]json.RawMessage) (u unasked, ok bool) {
	u = unasked{Version: parts["jsonrpc"], ID: parts["id"]}
	if json.Unmarshal(parts["method"], &u.Method) != nil || len(u.Method) > maxID || len(u.ID) > maxID || len(u.Version) > maxID {
		return u, false
	}
	if bytes.Equal(u.ID, []byte("null")) {
		u.ID = nil
	}
	params := parts["params"]
	if !bytes.HasPrefix(params, []byte("{")) || len(params) > maxUnasked {
		params = nil
	}
	switch {
	case u.Method == "elicitation/create":
		u.Params = params
	case u.Method == "sampling/createMessage":
		u.Params = json.RawMessage("{}") // the answer is no
	case u.ID != nil, u.Method == "notifications/tools/list_changed":
	case u.Method == "notifications/progress", u.Method == "notifications/cancelled":
		u.Params = params
		return u, params != nil
	default:
		return u, false
	}
	return u, true
}

package rules

import (
	"encoding/json"
	"reflect"
	"strings"

	"dragoman/sessions"
)

// Names has the exact names of the fields of one of our JSON objects, without those of
// nested objects.
type Names map[string]bool

// NamesOf returns the names of T, a struct.
func NamesOf[T any]() Names {
	n := Names{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			n[name] = true
		}
	}
	return n
}

// Call is a tool call as OpenAI writes it, which readers of files and other programs know.
type Call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Calls returns list in that form, nil for none.
func Calls(list []sessions.ToolCall) (calls []Call) {
	for _, c := range list {
		w := Call{ID: c.ID, Type: "function"}
		w.Function.Name, w.Function.Arguments = c.Name, c.Arguments
		calls = append(calls, w)
	}
	return calls
}

// Split separates our fields in the object raw from those of other programs. If there are
// none of theirs, theirs is nil and ours is raw. A name that differs from ours in case is
// theirs, though a decoder would accept it.
func (n Names) Split(raw []byte) (ours []byte, theirs map[string]json.RawMessage) {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return raw, nil
	}
	own := map[string]json.RawMessage{}
	for name, v := range all {
		if n[name] {
			own[name] = v
			delete(all, name)
		}
	}
	if len(all) == 0 {
		return raw, nil
	}
	ours, _ = json.Marshal(own) // it was just decoded
	return ours, all
}

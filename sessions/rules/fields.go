package rules

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"dragoman/sessions"
)

// mostDepth is how deep stored JSON may be nested. Encoders refuse ten thousand
// levels, and records, rows and lines of logs add some.
const mostDepth = 1000

// JSON returns a cleaned copy of raw in its shortest form, nil for nothing. Text
// that is not JSON, or is nested too deep, becomes a JSON string: it is kept, and
// everything that is stored can be read.
func JSON(raw json.RawMessage) json.RawMessage { return jsonWithin(raw, mostDepth) }

func jsonWithin(raw json.RawMessage, most int) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	text := Text(string(raw))
	if b, err := json.Marshal(json.RawMessage(text)); err == nil && depth(b) <= most {
		return b
	}
	b, _ := json.Marshal(text) // a string has a form in JSON
	return b
}

// depth returns how deep JSON is nested.
func depth(raw []byte) (deepest int) {
	now, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// Fields returns a cleaned copy of JSON values by name, nil for none.
func Fields(m map[string]json.RawMessage) map[string]json.RawMessage {
	return fieldsWithin(m, mostDepth)
}

func fieldsWithin(m map[string]json.RawMessage, most int) map[string]json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	clean := make(map[string]json.RawMessage, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v := jsonWithin(m[name], most)
		if v == nil {
			v = json.RawMessage("null")
		}
		clean[Text(name)] = v
	}
	return clean
}

// Foreign returns the fields of other programs in s, nil if there are none.
func Foreign(s sessions.Settings) (fields map[string]json.RawMessage) {
	raw, ok := s.Metadata[sessions.FieldsName]
	if !ok || json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

// SetForeign sets the fields of other programs in s, or removes them if there are none.
// It replaces the map of s and does not change it.
func SetForeign(s *sessions.Settings, fields map[string]json.RawMessage) {
	m := maps.Clone(s.Metadata)
	if m == nil {
		m = map[string]json.RawMessage{}
	}
	delete(m, sessions.FieldsName)
	// Metadata nests them one level deeper.
	if raw, err := json.Marshal(fieldsWithin(fields, mostDepth-1)); err == nil && len(fields) > 0 {
		m[sessions.FieldsName] = raw
	}
	s.Metadata = m
	if len(m) == 0 {
		s.Metadata = nil
	}
}

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

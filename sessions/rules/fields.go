package rules

import (
	"encoding/json"
	"maps"
	"slices"

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
	if s.Metadata = m; len(m) == 0 {
		s.Metadata = nil
	}
}

package rules

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"dragoman/sessions"
)

// mostDepth is how deep JSON may be nested that is stored as such. Encoders
// refuse what is nested ten thousand deep, and what is stored is put into
// records, rows and lines of logs, which nest it deeper.
const mostDepth = 1000

// JSON returns a cleaned copy of raw in its shortest form, nil for nothing.
// What is no JSON, or is nested too deep, becomes a JSON string of it: it is
// kept, and everything that is stored can be read.
func JSON(raw json.RawMessage) json.RawMessage { return jsonWithin(raw, mostDepth) }

func jsonWithin(raw json.RawMessage, most int) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	text := Text(string(raw))
	if b, err := json.Marshal(json.RawMessage(text)); err == nil && depth(b) <= most {
		return b
	}
	b, err := json.Marshal(text)
	if err != nil { // no string fails to encode
		return nil
	}
	return b
}

// depth is how deep JSON is nested.
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

// JoinSettings are those of two conversations that become one: what stands in
// to counts, from fills the gaps.
func JoinSettings(from, to sessions.Settings) sessions.Settings {
	joined := sessions.Settings{
		Model: cmp.Or(to.Model, from.Model), System: cmp.Or(to.System, from.System), Reasoning: cmp.Or(to.Reasoning, from.Reasoning),
		Tags: slices.Concat(from.Tags, to.Tags), Metadata: map[string]json.RawMessage{},
	}
	maps.Copy(joined.Metadata, from.Metadata)
	maps.Copy(joined.Metadata, to.Metadata)
	one, two := Foreign(from, sessions.FieldsName), Foreign(to, sessions.FieldsName)
	if one != nil && two != nil {
		maps.Copy(one, two)
		SetForeign(&joined, sessions.FieldsName, one)
	}
	joinPlaces(from, to, &joined)
	return Settings(joined)
}

// joinPlaces keeps the fields of both by their places. Deliveries and turns are
// called the same in every conversation; the other names of from are those of
// something else in to, and what stood there has no place any more.
func joinPlaces(from, to sessions.Settings, joined *sessions.Settings) {
	one := Foreign(from, sessions.PlacesName)
	if one == nil {
		return
	}
	all := map[string]json.RawMessage{}
	for at, fields := range one {
		if !strings.HasPrefix(at, "deliveries/") && !strings.HasPrefix(at, "journals/") {
			at = inside(sessions.PlacesName, at)
		}
		all[at] = fields
	}
	maps.Copy(all, Foreign(to, sessions.PlacesName))
	SetForeign(joined, sessions.PlacesName, all)
}

// foreignNames are where settings keep what others wrote.
var foreignNames = []string{sessions.FieldsName, sessions.PlacesName}

// Foreign is the object that s keeps under name, one of foreignNames: nil if
// nothing stands there or no object does.
func Foreign(s sessions.Settings, name string) (fields map[string]json.RawMessage) {
	raw, ok := s.Metadata[name]
	if !ok || json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

// SetForeign puts fields under name, one of foreignNames; none take the name
// away. Nothing that s shares with others is changed.
func SetForeign(s *sessions.Settings, name string, fields map[string]json.RawMessage) {
	m := maps.Clone(s.Metadata)
	if m == nil {
		m = map[string]json.RawMessage{}
	}
	delete(m, name)
	// The object around them nests them once more.
	if raw, err := json.Marshal(fieldsWithin(fields, mostDepth-1)); err == nil && len(fields) > 0 { // clean ones encode
		m[name] = raw
	}
	if s.Metadata = m; len(m) == 0 {
		s.Metadata = nil
	}
}

// DropForeign takes away all that others wrote beside the messages, and reports
// whether there was any: nobody can tell of whom it tells.
func DropForeign(s *sessions.Settings) (dropped bool) {
	for _, name := range foreignNames {
		if s.Metadata[name] != nil {
			SetForeign(s, name, nil)
			dropped = true
		}
	}
	return dropped
}

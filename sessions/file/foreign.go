package file

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// A foreign field is one that this package does not know. It keeps those at the top
// of a document and those of its messages, and drops those deeper inside.

var (
	documentNames = sync.OnceValue(rules.NamesOf[document])
	messageNames  = sync.OnceValue(rules.NamesOf[message])
)

// decode reads a document and returns the foreign fields at its top.
func (d *document) decode(data []byte) (foreign map[string]json.RawMessage, err error) {
	ours, foreign := documentNames().Split(data)
	return foreign, json.Unmarshal(ours, d)
}

// documentMessage is a message in a document, with its foreign fields beside its own.
type documentMessage message

// MarshalJSON moves foreign fields from Extra up to the message, except those whose
// names are ours.
func (m documentMessage) MarshalJSON() ([]byte, error) {
	w, foreign := message(m), map[string]json.RawMessage{}
	w.Extra = maps.Clone(w.Extra)
	for name, v := range w.Extra {
		if !messageNames()[name] {
			foreign[name] = v
			delete(w.Extra, name)
		}
	}
	data, err := json.Marshal(w)
	return appendFields(data, foreign), err
}

// UnmarshalJSON moves foreign fields into Extra.
func (m *documentMessage) UnmarshalJSON(data []byte) error {
	ours, foreign := messageNames().Split(data)
	err := json.Unmarshal(ours, (*message)(m))
	if foreign != nil {
		m.Extra = mergeFields(foreign, m.Extra, "extra")
	}
	return err
}

// appendFields adds fields to the end of a JSON object, sorted by name. The fields
// are valid JSON.
func appendFields(object []byte, fields map[string]json.RawMessage) []byte {
	more, err := json.Marshal(fields)
	if len(fields) == 0 || len(object) == 0 || err != nil {
		return object
	}
	object[len(object)-1] = ','
	return append(object, more[1:]...)
}

// mergeFields merges the foreign fields found in a document with those kept for it.
// If both have a name, the document's value wins it, and the other is kept below the
// name under.
func mergeFields(found, kept map[string]json.RawMessage, under string) map[string]json.RawMessage {
	all, left := maps.Clone(found), map[string]json.RawMessage{}
	for name, v := range kept {
		if w, taken := found[name]; !taken {
			all[name] = v
		} else if !bytes.Equal(rules.JSON(v), rules.JSON(w)) {
			left[name] = v
		}
	}
	if len(left) == 0 {
		return all
	}
	if v, taken := all[under]; taken {
		left[under] = v
	}
	if raw, err := json.Marshal(left); err == nil { // it was JSON
		all[under] = raw
	}
	return all
}

// liftForeign moves the foreign fields from the settings back to the top of the
// document, except those whose names are ours.
func (d *document) liftForeign(s *sessions.Settings) {
	kept, top := rules.Foreign(*s), map[string]json.RawMessage{}
	for name, v := range kept {
		if !documentNames()[name] {
			top[name] = v
			delete(kept, name)
		}
	}
	rules.SetForeign(s, kept)
	d.foreign = top
}

// htmlEscapes replaces the escapes that only HTML needs. It steps over an escaped
// backslash, so that it never reads the text after one as an escape.
var htmlEscapes = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

func unescapeHTML(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\u00`)) {
		return raw
	}
	return []byte(htmlEscapes.Replace(string(raw)))
}

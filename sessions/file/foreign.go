package file

import (
	"bytes"
	"encoding/json"
	"maps"
	"sync"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

var (
	documentNames = sync.OnceValue(rules.NamesOf[document])
	messageNames  = sync.OnceValue(rules.NamesOf[message])
)

// decode reads a document. What others wrote beside its messages is returned. What is
// inside of our own objects has names of ours only: others are left out.
func (d *document) decode(data []byte) (theirs map[string]json.RawMessage, err error) {
	ours, theirs := documentNames().Split(data)
	return theirs, json.Unmarshal(ours, d)
}

// shown is a message in a document: fields of others stand beside its own.
type shown message

// MarshalJSON puts the fields of others beside ours. Those with names of ours stay
// apart.
func (s shown) MarshalJSON() ([]byte, error) {
	m, theirs := message(s), map[string]json.RawMessage{}
	m.Extra = maps.Clone(m.Extra)
	for name, v := range m.Extra {
		if !messageNames()[name] {
			theirs[name] = v
			delete(m.Extra, name)
		}
	}
	own, err := json.Marshal(m)
	return beside(own, theirs), err
}

// UnmarshalJSON puts what others wrote to where messages keep such.
func (s *shown) UnmarshalJSON(data []byte) error {
	own, foreign := messageNames().Split(data)
	err := json.Unmarshal(own, (*message)(s))
	if foreign != nil {
		s.Extra = merge(foreign, s.Extra, "extra")
	}
	return err
}

// beside puts fields at the end of a JSON object, sorted by name.
func beside(object []byte, fields map[string]json.RawMessage) []byte {
	more, err := json.Marshal(fields)
	if len(fields) == 0 || len(object) == 0 || err != nil { // each is JSON that was just read
		return object
	}
	object[len(object)-1] = ','
	return append(object, more[1:]...)
}

// merge puts fields that stand in a document and those that are kept for it
// together. Of two of one name that of the document gets it, and the other one
// is kept below the name under.
func merge(there, kept map[string]json.RawMessage, under string) map[string]json.RawMessage {
	all, left := maps.Clone(there), map[string]json.RawMessage{}
	for name, v := range kept {
		if w, taken := there[name]; !taken {
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

// showForeign puts the fields that the settings keep where they stood: at the
// top. Those with a name of ours cannot stand there.
func (d *document) showForeign(s *sessions.Settings) {
	kept, top := rules.Foreign(*s), map[string]json.RawMessage{}
	for name, v := range kept {
		if !documentNames()[name] {
			top[name] = v
			delete(kept, name)
		}
	}
	rules.SetForeign(s, kept)
	d.theirs = top
}

// readable is raw without the escapes that only HTML needs.
func readable(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\u00`)) {
		return raw
	}
	plain := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' || i+1 == len(raw) {
			plain = append(plain, c)
			continue
		}
		if char, ok := forHTML[string(raw[i:min(i+6, len(raw))])]; ok {
			plain, i = append(plain, char), i+5
			continue
		}
		plain, i = append(plain, c, raw[i+1]), i+1
	}
	return plain
}

var forHTML = map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}

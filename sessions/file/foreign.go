package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// foreign are fields at the top of a document that we do not know, as an
// indented JSON object, or "": other programs may have written them. They stay
// in the settings of the conversation for as long as it does, and are shown
// behind our own.
type foreign string

var (
	documentNames = sync.OnceValue(rules.NamesOf[document])
	messageNames  = sync.OnceValue(rules.NamesOf[message])
)

// decode reads a document. What others wrote into a message goes to where
// messages keep such; what they wrote beside the messages is returned. What is
// inside of our own objects has names of ours only: others are left out.
func (d *document) decode(data []byte) (theirs map[string]json.RawMessage, err error) {
	ours, theirs := documentNames().Split(data)
	if err := json.Unmarshal(ours, d); err != nil {
		return nil, err
	}
	var raw struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(ours, &raw); err != nil {
		return nil, err
	}
	for i, text := range raw.Messages {
		if own, foreign := messageNames().Split(text); foreign != nil {
			var m message
			err = errors.Join(err, json.Unmarshal(own, &m))
			m.Extra = merge(foreign, m.Extra, "extra")
			d.Messages[i] = m
		}
	}
	return theirs, err
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
	d.theirs = foreignText(top)
}

// foreignText writes fields as they stand in a document.
func foreignText(fields map[string]json.RawMessage) foreign {
	if len(fields) == 0 {
		return ""
	}
	shown := make(map[string]json.RawMessage, len(fields))
	for name, v := range fields {
		shown[name] = readable(v)
	}
	data, err := pretty(shown) // sorted by name
	if err != nil {
		return "" // it cannot be: each is JSON that was just read
	}
	return foreign(data)
}

// behind puts the fields behind those of an indented document.
func (f foreign) behind(document []byte) []byte {
	if f == "" {
		return document
	}
	document = append(bytes.TrimSuffix(document, []byte("\n}\n")), ",\n"...)
	return append(document, strings.TrimPrefix(string(f), "{\n")...)
}

// readable is raw without the escapes that only HTML needs.
func readable(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`\u00`)) {
		return raw
	}
	plain := make(json.RawMessage, 0, len(raw))
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

package file

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// foreign are fields at the top of a document that we do not know, as an
// indented JSON object, or "": other programs may have written them. They stay,
// behind our own, for as long as the conversation does. It is text so that
// states of documents can be compared.
type foreign string

// fieldsMost is how many bytes of such fields may be new in a document for
// them to be kept in the settings of the conversation, with which they reach
// every store, every list and every commit of it. If there are more, none of
// the new ones is: they stay in the document alone, and together they stay too
// long whatever else becomes of the settings.
const fieldsMost = 64 << 10

// names are those of the fields of an object of ours.
type names map[string]bool

var (
	documentNames = namesOf[document]()
	messageNames  = namesOf[message]()
	callNames     = namesOf[toolCall]()
	functionNames = namesOf[toolFunction]()
)

func namesOf[T any]() names {
	all := names{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			all[name] = true
		}
	}
	return all
}

// split tells ours from theirs. The decoder takes a name in other letters for
// ours; it is theirs.
func (n names) split(fields map[string]json.RawMessage) (own, theirs map[string]json.RawMessage) {
	own, theirs = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for name, v := range fields {
		if n[name] {
			own[name] = v
		} else {
			theirs[name] = v
		}
	}
	return own, theirs
}

// takeForeign finds what others wrote into the document: fields of messages
// and of calls go to where messages keep such, those at the top are returned.
// Of nearly all documents there is nothing to do, and the one walk that sees
// so is all that it costs.
func (d *document) takeForeign(data []byte) (map[string]json.RawMessage, error) {
	if !strange(data) {
		return nil, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	own, theirs := documentNames.split(fields)
	var list []json.RawMessage
	if err := json.Unmarshal(own["messages"], &list); own["messages"] != nil && err != nil {
		return nil, err
	}
	ours, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	*d = document{}
	if err := json.Unmarshal(ours, d); err != nil {
		return nil, err
	}
	for i, raw := range list {
		if strangeMessage(raw) {
			if d.Messages[i], err = foreignMessage(raw); err != nil {
				return nil, err
			}
		}
	}
	return theirs, nil
}

// foreignMessage reads a message with fields of others in it or in its calls.
func foreignMessage(raw json.RawMessage) (m message, err error) {
	var fields map[string]json.RawMessage
	if err = json.Unmarshal(raw, &fields); err != nil {
		return m, err
	}
	own, theirs := messageNames.split(fields)
	ours, err := json.Marshal(own)
	if err == nil {
		err = json.Unmarshal(ours, &m)
	}
	if calls := own["tool_calls"]; strangeCalls(calls) {
		theirs["tool_calls"] = calls // whole: what is ours in it is read from it
	}
	m.Extra = merge(theirs, m.Extra, "extra")
	return m, err
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

// keepForeign puts the fields at the top into the settings. Those that were
// stored there stay, however long they are; if all others are too long
// together, they stay in the document alone.
func (d *document) keepForeign(s *sessions.Settings, fields, stored map[string]json.RawMessage) {
	kept, fresh := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for name, v := range rules.Fields(fields) {
		if bytes.Equal(rules.JSON(stored[name]), v) {
			kept[name] = v
		} else {
			fresh[name] = v
		}
	}
	if length(fresh) > fieldsMost {
		d.extra = foreignText(fresh)
	} else {
		maps.Copy(kept, fresh)
	}
	if len(kept) > 0 {
		rules.SetForeignFields(s, merge(kept, rules.ForeignFields(*s), sessions.FieldsName))
	}
}

// showForeign puts the fields that the settings keep where they stood: at the
// top. Those with a name of ours, or of one that the document alone has, cannot
// stand there.
func (d *document) showForeign(s sessions.Settings) {
	kept := rules.ForeignFields(s)
	top := maps.Clone(kept)
	maps.DeleteFunc(top, func(name string, _ json.RawMessage) bool { return documentNames[name] })
	members([]byte(d.extra), func(name, _ []byte) { delete(top, string(name)) })
	if len(top) == 0 {
		return
	}
	maps.DeleteFunc(kept, func(name string, _ json.RawMessage) bool { return top[name] != nil })
	rules.SetForeignFields(&s, kept)
	d.Metadata, d.inline = s.Metadata, foreignText(top)
}

// length is how many bytes clean fields take in a document, without what
// stands between them.
func length(fields map[string]json.RawMessage) (n int) {
	for name, v := range fields {
		n += len(name) + len(readable(v)) + len(`"":,`)
	}
	return n
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

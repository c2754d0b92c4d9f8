package rules

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// Names are the names that an object of ours has in JSON, to the letter. It
// says nothing of the objects within.
type Names map[string]bool

// NamesOf are those of T, a struct.
func NamesOf[T any]() Names {
	n := Names{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			n[name] = true
		}
	}
	return n
}

// Split tells our fields in the object raw from those of others, which are nil
// if there are none: ours is raw then. A name of ours in other letters is one
// of others, which a decoder would take for ours.
func (n Names) Split(raw []byte) (ours []byte, theirs map[string]json.RawMessage) {
	Members(raw, func(name, v []byte) {
		if !n[string(name)] {
			if theirs == nil {
				theirs = map[string]json.RawMessage{}
			}
			theirs[string(name)] = v
		}
	})
	if theirs == nil {
		return raw, nil
	}
	var own bytes.Buffer
	Members(raw, func(name, v []byte) {
		if n[string(name)] {
			own.WriteByte("{,"[min(1, own.Len())])
			own.WriteString(`"` + string(name) + `":`) // ours need no escapes
			own.Write(v)
		}
	})
	if own.Len() == 0 {
		own.WriteByte('{')
	}
	own.WriteByte('}')
	return own.Bytes(), theirs
}

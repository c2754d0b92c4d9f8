package file

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// foreign are the fields at the top of a document that we do not know, as an
// indented JSON object, or "": other programs may have written them. They stay,
// behind our own, for as long as the conversation does. It is text so that
// states of documents can be compared.
type foreign string

// ownFields are the names of a document's fields.
var ownFields = func() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[document]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}()

// foreignFields are those of fields that are not ours. It empties fields of
// our own.
func foreignFields(fields map[string]json.RawMessage) foreign {
	for name := range fields {
		for _, own := range ownFields {
			// The decoder takes a name in other letters for ours.
			if strings.EqualFold(name, own) {
				delete(fields, name)
			}
		}
	}
	if len(fields) == 0 {
		return ""
	}
	data, err := pretty(fields) // sorted by name
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

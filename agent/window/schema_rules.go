package window

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

var (
	kinds  = []any{"null", "boolean", "integer", "number", "string", "array", "object"}
	names  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
	values = []string{"const", "enum", "default", "examples"}
)

// keywords are those of JSON Schema that the library knows.
var keywords = sync.OnceValue(func() []string {
	all := []string{"type", "items", "dependencies"}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[jsonschema.Schema]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "-" {
			all = append(all, name)
		}
	}
	return all
})

// schemaChecker looks for what the library accepts but must not: unknown types, which
// nothing could satisfy, references that lead back to themselves, which it would follow
// until the stack overflows, and keywords in other letters, like $Ref, which it reads as
// encoding/json does.
type schemaChecker struct {
	root map[string]any
	done map[string]bool // references already checked
}

// SchemaFlaw is what is wrong with a schema that the library must not follow, like one that
// refers to itself; nil: nothing.
func SchemaFlaw(root map[string]any) *Flaw {
	return (&schemaChecker{root, map[string]bool{}}).check("", root, nil, false)
}

// check checks the value at a place; above are the references that led to it. named
// says that the keys of an object are names, not keywords of JSON Schema.
func (l *schemaChecker) check(place string, value any, above []string, named bool) *Flaw {
	if items, isList := value.([]any); isList {
		for i, item := range items {
			if flaw := l.check(place+"/"+strconv.Itoa(i), item, above, false); flaw != nil {
				return flaw
			}
		}
	}
	object, _ := value.(map[string]any)
	for word, inner := range object {
		var flaw *Flaw
		switch {
		case named:
			flaw = l.check(place+"/"+word, inner, above, false)
		case slices.Contains(values, word):
		case word == "type":
			if list, isList := inner.([]any); !isList && !slices.Contains(kinds, inner) || slices.ContainsFunc(list, func(k any) bool { return !slices.Contains(kinds, k) }) {
				flaw = invalid(" at " + place + "/type")
			}
		case word == "$ref":
			flaw = l.follow(inner, above)
		case word == "$dynamicRef", word == "$id" && place != "":
			flaw = &Flaw{"has a keyword that does not work in summaries: " + word, "write a $ref to a place below $defs"}
		case !slices.Contains(keywords(), word) && keywordLike(word) != "":
			flaw = &Flaw{"has a keyword in other letters: " + word, "write " + keywordLike(word)}
		default:
			flaw = l.check(place+"/"+word, inner, above, slices.Contains(names, word))
		}
		if flaw != nil {
			return flaw
		}
	}
	return nil
}

// keywordLike is the keyword that differs from word in large and small letters only; "": none.
func keywordLike(word string) string {
	at := slices.IndexFunc(keywords(), func(k string) bool { return strings.EqualFold(k, word) })
	if at < 0 {
		return ""
	}
	return keywords()[at]
}

// follow checks the definition that a reference names. The library reports a missing
// one.
func (l *schemaChecker) follow(ref any, above []string) *Flaw {
	text, _ := ref.(string)
	group, name, _ := strings.Cut(strings.TrimPrefix(text, "#/"), "/")
	switch {
	case group != "$defs" && group != "definitions" || strings.ContainsAny(name, "/~%"):
		return &Flaw{"has a $ref that does not lead to one of its $defs", "write #/$defs/NAME, or write it out"}
	case slices.Contains(above, text):
		return &Flaw{"refers to itself at " + text, "write out how deep it may go"}
	case l.done[text]:
		return nil
	}
	definitions, _ := l.root[group].(map[string]any)
	flaw := l.check(text[1:], definitions[name], append(slices.Clip(above), text), false)
	l.done[text] = true
	return flaw
}

func invalid(why string) *Flaw {
	return &Flaw{"is not a valid JSON Schema" + why, "see json-schema.org"}
}

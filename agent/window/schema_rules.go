package window

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// drafts of JSON Schema that are understood, in the ways in which people write
// them; none is the newest.
var drafts = map[string]string{
	"": draft2020, draft2020: draft2020, draft2020 + "#": draft2020,
	draft7: draft7, "http://json-schema.org/draft-07/schema": draft7,
	"https://json-schema.org/draft-07/schema": draft7, "https://json-schema.org/draft-07/schema#": draft7,
}

const (
	draft7    = "http://json-schema.org/draft-07/schema#"
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
)

var (
	kinds  = []any{"null", "boolean", "integer", "number", "string", "array", "object"}
	names  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
	values = []string{"const", "enum", "default", "examples"}
)

// look goes through a schema for what the library takes and must not: a type
// that does not exist, which nothing could follow, and references that lead
// back to themselves, which it would follow until the stack is full.
type look struct {
	root any
	done map[string]bool // references
}

// at looks at what stands at a place, with the references that led to it. Named:
// the fields of an object are names, and no words of JSON Schema.
func (l *look) at(place string, value any, above []string, named bool) *Flaw {
	if items, isList := value.([]any); isList {
		for i, item := range items {
			if flaw := l.at(place+"/"+strconv.Itoa(i), item, above, false); flaw != nil {
				return flaw
			}
		}
	}
	object, _ := value.(map[string]any)
	for word, inner := range object {
		var flaw *Flaw
		switch {
		case named:
			flaw = l.at(place+"/"+word, inner, above, false)
		case slices.Contains(values, word):
		case word == "type":
			if list, isList := inner.([]any); !isList && !slices.Contains(kinds, inner) || slices.ContainsFunc(list, func(k any) bool { return !slices.Contains(kinds, k) }) {
				flaw = invalid(" at " + place + "/type")
			}
		case word == "$ref":
			flaw = l.follow(inner, above)
		case word == "$dynamicRef", word == "$id" && place != "":
			flaw = &Flaw{"has a keyword that does not work in summaries: " + word, "write a $ref to a place below $defs"}
		default:
			flaw = l.at(place+"/"+word, inner, above, slices.Contains(names, word))
		}
		if flaw != nil {
			return flaw
		}
	}
	return nil
}

// follow looks at what a reference refers to. Whether that is there, the library
// says.
func (l *look) follow(ref any, above []string) *Flaw {
	text, _ := ref.(string)
	path, here := strings.CutPrefix(text, "#")
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	switch {
	case !here:
		return &Flaw{"refers to another document", "write that into it, below $defs"}
	case path != "" && path[0] != '/':
		return &Flaw{"refers to an anchor", "refer to it by # and its path"}
	case slices.Contains(above, path):
		return &Flaw{"refers to itself at " + text, "write out how deep it may go"}
	case l.done[path]:
		return nil
	}
	target := l.root
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		switch v := target.(type) {
		case map[string]any:
			if path != "" {
				target = v[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
			}
		case []any:
			if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(v) {
				target = v[i]
			}
		}
	}
	flaw := l.at(path, target, append(slices.Clip(above), path), false)
	l.done[path] = true
	return flaw
}

func invalid(why string) *Flaw {
	return &Flaw{"is not a valid JSON Schema" + why, "see json-schema.org"}
}

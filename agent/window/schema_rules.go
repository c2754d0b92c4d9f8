package window

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The drafts of JSON Schema that are understood, as their $schema names them.
const (
	draft7    = "http://json-schema.org/draft-07/schema#"
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
)

// drafts are the ways in which people write them; none is the newest.
var drafts = map[string]string{
	"": draft2020, draft2020: draft2020, draft2020 + "#": draft2020,
	draft7: draft7, "http://json-schema.org/draft-07/schema": draft7,
	"https://json-schema.org/draft-07/schema": draft7, "https://json-schema.org/draft-07/schema#": draft7,
}

// keyword is what may stand behind a word of JSON Schema: a value that is
// right, or schemas. If inPlace, those are about the same value as the schema
// that holds them, not about a part of it.
type keyword struct {
	right            func(value any) bool
	one, list, named bool
	inPlace          bool
}

// keywords are all that mean something. The library skips others, and some
// that are not as they should be; so schemas are checked here first.
var keywords = map[string]keyword{
	"$schema": {right: isText}, "$comment": {right: isText}, "$anchor": {right: isText}, "$dynamicAnchor": {right: isText},
	"title": {right: isText}, "description": {right: isText}, "format": {right: isText},
	"contentEncoding": {right: isText}, "contentMediaType": {right: isText},
	"$id": {right: isText}, "$ref": {right: isText}, "$dynamicRef": {right: isText},
	"default": {}, "const": {}, "enum": {right: isList}, "examples": {right: isList},
	"deprecated": {right: isBool}, "readOnly": {right: isBool}, "writeOnly": {right: isBool}, "uniqueItems": {right: isBool},
	"type": {right: isType}, "required": {right: isNames}, "dependentRequired": {right: areNames}, "pattern": {right: isPattern},
	"minimum": {right: isNumber}, "maximum": {right: isNumber},
	"exclusiveMinimum": {right: isNumber}, "exclusiveMaximum": {right: isNumber}, "multipleOf": {right: isPositive},
	"minLength": {right: isCount}, "maxLength": {right: isCount}, "minItems": {right: isCount}, "maxItems": {right: isCount},
	"minContains": {right: isCount}, "maxContains": {right: isCount}, "minProperties": {right: isCount}, "maxProperties": {right: isCount},

	"contains": {one: true}, "additionalItems": {one: true}, "unevaluatedItems": {one: true}, "contentSchema": {one: true},
	"additionalProperties": {one: true}, "unevaluatedProperties": {one: true}, "propertyNames": {one: true},
	"items": {one: true, list: true}, "prefixItems": {list: true},
	"$defs": {named: true}, "definitions": {named: true}, "properties": {named: true},
	"patternProperties": {named: true, right: arePatterns},
	"not":               {one: true, inPlace: true}, "if": {one: true, inPlace: true}, "then": {one: true, inPlace: true}, "else": {one: true, inPlace: true},
	"allOf": {list: true, inPlace: true}, "anyOf": {list: true, inPlace: true}, "oneOf": {list: true, inPlace: true},
	"dependentSchemas": {named: true, inPlace: true}, "dependencies": {named: true, inPlace: true},
}

// rules checks one schema against them.
type rules struct {
	draft string
	// inPlace has, for each place of a schema, those that it is judged with.
	inPlace map[string][]string
	anchors map[string]string // where they stand
	refs    [][2]string       // a place and what it refers to
}

// checkRules says what is wrong with a schema, if anything: a keyword, words
// of another draft, references that leave the document or never end. The last
// are not the library's business: it would follow them until the stack is full.
func checkRules(root map[string]any) *Flaw {
	name, _ := root["$schema"].(string)
	draft, known := drafts[name]
	if !known {
		return &Flaw{"has a $schema other than draft 2020-12 and draft 7", "write " + draft2020 + ", or none"}
	}
	r := rules{draft: draft, inPlace: make(map[string][]string), anchors: make(map[string]string)}
	if flaw := r.check("", root); flaw != nil {
		return flaw
	}
	for _, ref := range r.refs {
		name, here := strings.CutPrefix(ref[1], "#")
		if !here {
			return &Flaw{"refers to another document", "write that into it, below $defs"}
		}
		if anchor, found := r.anchors[name]; found {
			name = anchor
		} else if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		r.inPlace[ref[0]] = append(r.inPlace[ref[0]], name)
	}
	done := make(map[string]bool)
	for place := range r.inPlace {
		if r.endless(place, nil, done) {
			return &Flaw{"refers to itself without end" + inPlace(place), "refer to it from below properties or items"}
		}
	}
	return nil
}

// check looks at the schema that stands at a place, and into it.
func (r *rules) check(at string, schema any) *Flaw {
	if isBool(schema) {
		return nil
	}
	object, isObject := schema.(map[string]any)
	if !isObject {
		return invalid(at)
	}
	for _, word := range slices.Sorted(maps.Keys(object)) {
		place, value := at+"/"+escape(word), object[word]
		rule, known := keywords[word]
		if !known && !mistyped(word) {
			continue
		}
		if !known || rule.right != nil && !rule.right(value) {
			return invalid(place)
		}
		switch word {
		case "$id":
			if at != "" {
				return &Flaw{"has an $id inside" + inPlace(place), "remove it, and refer to that place by # and its path"}
			}
		case "$anchor", "$dynamicAnchor":
			r.anchors[value.(string)] = at
		case "$ref", "$dynamicRef":
			r.refs = append(r.refs, [2]string{at, value.(string)})
		}
		if flaw := r.inside(at, place, word, rule, value); flaw != nil {
			return flaw
		}
	}
	return nil
}

// inside checks the schemas behind a keyword of the schema at a place.
func (r *rules) inside(at, place, word string, rule keyword, value any) *Flaw {
	schemas := make(map[string]any)
	items, isList := value.([]any)
	object, isObject := value.(map[string]any)
	switch {
	case !rule.one && !rule.list && !rule.named:
		return nil
	case rule.named && isObject:
		for name, schema := range object {
			if word == "dependencies" && isNames(schema) {
				continue
			}
			schemas[place+"/"+escape(name)] = schema
		}
	case rule.list && isList && len(items) > 0 && (!rule.one || r.draft == draft7):
		for i, schema := range items {
			schemas[fmt.Sprintf("%s/%d", place, i)] = schema
		}
	case rule.one:
		schemas[place] = value
	default:
		return invalid(place)
	}
	for _, place := range slices.Sorted(maps.Keys(schemas)) {
		if flaw := r.check(place, schemas[place]); flaw != nil {
			return flaw
		}
		if rule.inPlace {
			r.inPlace[at] = append(r.inPlace[at], place)
		}
	}
	return nil
}

// endless reports whether a schema is judged with itself, by whatever way.
func (r *rules) endless(place string, above []string, done map[string]bool) bool {
	if slices.Contains(above, place) {
		return true
	}
	if done[place] {
		return false
	}
	for _, next := range r.inPlace[place] {
		if r.endless(next, append(above, place), done) {
			return true
		}
	}
	done[place] = true
	return false
}

func invalid(at string) *Flaw {
	return &Flaw{"is no valid JSON Schema" + inPlace(at), "see json-schema.org"}
}

func inPlace(at string) string {
	if at == "" {
		return ""
	}
	return " at " + at
}

// escape makes a name part of a JSON pointer.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// mistyped reports whether a word is a keyword but for its capitals, which
// the library would not see.
func mistyped(word string) bool {
	for known := range keywords {
		if strings.EqualFold(known, word) {
			return true
		}
	}
	return false
}

func isText(v any) bool   { _, is := v.(string); return is }
func isBool(v any) bool   { _, is := v.(bool); return is }
func isNumber(v any) bool { _, is := v.(float64); return is }
func isList(v any) bool   { _, is := v.([]any); return is }

func isPositive(v any) bool { n, is := v.(float64); return is && n > 0 }

func isCount(v any) bool {
	n, is := v.(float64)
	return is && n >= 0 && n <= math.MaxInt32 && n == math.Trunc(n)
}

func isNames(v any) bool { return every(v, isText) }

// every reports whether v is a list of what is right.
func every(v any, right func(any) bool) bool {
	items, is := v.([]any)
	return is && !slices.ContainsFunc(items, func(item any) bool { return !right(item) })
}

func areNames(v any) bool {
	object, is := v.(map[string]any)
	for _, names := range object {
		is = is && isNames(names)
	}
	return is
}

func isType(v any) bool {
	name, is := v.(string)
	if !is {
		items, _ := v.([]any)
		return len(items) > 0 && every(v, func(item any) bool { return isText(item) && isType(item) })
	}
	return slices.Contains([]string{"null", "boolean", "integer", "number", "string", "array", "object"}, name)
}

func isPattern(v any) bool {
	text, is := v.(string)
	_, err := regexp.Compile(text)
	return is && err == nil
}

func arePatterns(v any) bool {
	object, is := v.(map[string]any)
	for pattern := range object {
		is = is && isPattern(pattern)
	}
	return is
}

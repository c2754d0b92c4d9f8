package mcp

import (
	"regexp/syntax"
	"strings"

	"dragoman/agent/window"
)

// A server writes the schema of a tool's results and the results. To check one against the
// other is work for each pair of a part of the schema and a part of the result, and each
// schema that a result breaks has the result in its error, level by level. So a schema of
// 300 bytes and a result of a megabyte could take all memory, and references that double an
// hour.

const (
	// maxSchemaEffort bounds a schema, and maxEffort it times the bytes of a result.
	maxSchemaEffort = 20_000
	maxEffort       = 8 << 20
)

// effortOf is how much work a schema is for each byte of a result; more than maxSchemaEffort:
// too much to find out.
func effortOf(schema any) int {
	root, isObject := schema.(map[string]any)
	if !isObject {
		return 1
	}
	if window.SchemaFlaw(root) != nil {
		return maxSchemaEffort + 1
	}
	e := effort{root: root}
	e.add(root, 1, false)
	return e.sum
}

// effort is a walk through a schema.
type effort struct {
	root map[string]any
	sum  int
}

// add adds what a part of the schema costs, and all in it, at a depth. named: the keys of this
// object are names. References are followed each time, as whoever checks does.
func (e *effort) add(part any, depth int, named bool) {
	if e.sum > maxSchemaEffort {
		return
	}
	e.sum += depth
	switch part := part.(type) {
	case []any:
		for _, inner := range part {
			e.add(inner, depth+1, false)
		}
	case map[string]any:
		for word, inner := range part {
			text, isText := inner.(string)
			switch {
			case named:
				e.add(inner, depth+1, false)
			case word == "$ref":
				e.add(e.definition(text), depth+1, false)
			case word == "patternProperties":
				e.patterns(inner)
				e.add(inner, depth+1, true)
			case word == "$defs", word == "definitions":
			case word == "pattern" && isText:
				e.sum += statesOf(text)
			case word == "title", word == "description", word == "default", word == "examples", word == "$comment":
			default:
				e.add(inner, depth+1, word == "properties" || word == "dependentSchemas" || word == "dependencies")
			}
		}
	}
}

// patterns adds those that are keys.
func (e *effort) patterns(named any) {
	keys, _ := named.(map[string]any)
	for pattern := range keys {
		e.sum += statesOf(pattern)
	}
}

// definition is what a reference leads to, of which window.SchemaFlaw has seen that it is one.
func (e *effort) definition(ref string) any {
	group, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/"), "/")
	definitions, _ := e.root[group].(map[string]any)
	return definitions[name]
}

// statesOf is about how many states a pattern has.
func statesOf(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0 // it makes the schema none
	}
	return states(parsed)
}

func states(re *syntax.Regexp) int {
	sum := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		sum += states(sub)
	}
	if re.Op == syntax.OpRepeat {
		sum *= max(re.Min, re.Max, 1)
	}
	return min(sum, maxSchemaEffort+1)
}

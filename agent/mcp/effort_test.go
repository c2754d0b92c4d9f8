package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/agent/mcp"
)

// The effort of a schema counts all ways through it, and what its patterns come to.
func TestEffort(t *testing.T) {
	many := func(one string) string { return `{"allOf":[` + strings.Repeat(one+",", 30) + `{}]}` }
	for name, test := range map[string]struct {
		schema      string
		least, most int
	}{
		"none":                   {`true`, 1, 1},
		"usual":                  {`{"type":"object","properties":{"n":{"type":"number","description":"How many"}},"required":["n"]}`, 5, 30},
		"words only":             {`{"type":"object","description":"` + strings.Repeat("x", 9000) + `"}`, 1, 10},
		"what is not used":       {`{"type":"object","$defs":{"a":` + many(`{}`) + `}}`, 1, 10},
		"what is used twice":     {`{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":` + many(`{}`) + `}}`, 300, 900},
		"deep counts more":       {strings.Repeat(`{"not":`, 50) + `{}` + strings.Repeat(`}`, 50), 1200, 1500},
		"a pattern that repeats": {`{"pattern":"^[a-z]{900}$"}`, 900, 5000},
		"patterns as names":      {`{"patternProperties":{"^[a-z]{900}$":{}}}`, 900, 5000},
		"names like keywords":    {`{"dependentSchemas":{"$defs":` + many(`{}`) + `,"title":` + many(`{}`) + `}}`, 150, 900},
		"a pattern that is none": {`{"pattern":"["}`, 1, 5},
		"refers to itself":       {`{"allOf":[{"$ref":"#"}]}`, mcp.MaxSchemaEffort + 1, mcp.MaxSchemaEffort + 1},
		"patterns in patterns":   {`{"pattern":"((a{100}){9}|(b{100}){9})*"}`, 1800, 9000},
		"hundreds of patterns":   {many(`{"pattern":"(a|b){1000}"}`), mcp.MaxSchemaEffort + 1, 200_000},
	} {
		var schema any
		if err := json.Unmarshal([]byte(test.schema), &schema); err != nil {
			t.Fatal(name, err)
		}
		if got := mcp.EffortOf(schema); got < test.least || got > test.most {
			t.Errorf("%s: the effort is %d, want %d to %d", name, got, test.least, test.most)
		}
	}
}

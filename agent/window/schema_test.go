package window_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"dragoman/agent/window"
)

const ticketSchema = `{
  "type": "object",
  "properties": {
    "topic": {"type": "string", "minLength": 1},
    "open": {"type": "array", "items": {"type": "string"}},
    "effort": {"type": "number", "minimum": 0, "multipleOf": 0.5}
  },
  "required": ["topic"],
  "additionalProperties": false
}`

func TestSchemaRead(t *testing.T) {
	s, err := window.ParseSchema(ticketSchema)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`{"topic": "Prices", "open": ["call <Ada>"], "effort": 1.5}`,
	} {
		shown, object, err := s.Read(text)
		if want := `{"topic":"Prices","open":["call <Ada>"],"effort":1.5}`; err != nil || string(object) != want {
			t.Errorf("Read(%q) = %s, %v, want %s", text, object, err, want)
		}
		if want := "{\n \"topic\": \"Prices\",\n \"open\": [\n  \"call <Ada>\"\n ],\n \"effort\": 1.5\n}"; shown != want {
			t.Errorf("Read(%q) shows %q, want %q", text, shown, want)
		}
	}
	for text, want := range map[string]string{
		"":                                       "not the JSON object",
		"Prices were named.":                     "not the JSON object",
		`{"topic": "canary"} and more`:           "not the JSON object",
		`{"topic": "canary", "effort": 1e99999}`: "not the JSON object",
		`["canary"]`:                             "not a JSON object",
		`{"open": ["canary"]}`:                   "breaks its schema at #",
		`{"topic": 5}`:                           "breaks its schema at #/properties/topic",
		`{"topic": "canary", "canary": 1}`:       "breaks its schema at #",
		`{"topic": "canary", "effort": -1}`:      "breaks its schema at #/properties/effort",
	} {
		_, _, err := s.Read(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%s) = %v, want an error with %q", text, err, want)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("Read(%s) = %v, which shows what the model wrote", text, err)
		}
	}
}

func TestSchemaFlaws(t *testing.T) {
	for text, want := range map[string]string{
		"{\n \"type\":\n  object}":                         "is not JSON (in its line 3)",
		`{"type": "object"`:                                "is not JSON (in its line 1)",
		"type: object":                                     "is not JSON",
		`{"type": "object"} {}`:                            "is not JSON",
		`true`:                                             "not a schema of an object",
		`[{"type": "object"}]`:                             "not a schema of an object",
		`{"type": "array"}`:                                `write one with "type": "object"`,
		`{"type": "object", "required": "a"}`:              "not a valid JSON Schema: a string is not a required",
		`{"properties": {"a": {"type": "strin"}}}`:         "not a valid JSON Schema at /properties/a/type",
		`{"properties": {"a": {"pattern": "("}}}`:          "missing closing )",
		`{"$ref": "https://example.org/schema.json"}`:      "does not lead to one of its $defs",
		`{"$ref": "file:///schema.json"}`:                  "does not lead to one of its $defs",
		`{"$ref": "schema.json"}`:                          "does not lead to one of its $defs",
		`{"properties": {"a": {"minimum": 1e9999999999}}}`: "is not JSON",
		`{"$ref": "#/$defs/missing"}`:                      "not a valid JSON Schema",
		`{"not": {"properties": {"a/b": null}}}`:           "not a valid JSON Schema: schema at /not/properties/a~1b is nil",
		`{"anyOf": [{"$dynamiCRef": "a"}]}`:                "has a keyword in other letters: $dynamiCRef",
		`{"properties": {"a": {"Type": "object"}}}`:        "has a keyword in other letters: Type",
		`{"properties": {"a": {"$id": "a"}}}`:              "has a keyword that does not work in summaries: $id",
		`{"dependentRequired": {"a": "b"}}`:                "not a valid JSON Schema: a string is not a dependentRequired",
		`{"patternProperties": {"(": {}}}`:                 "missing closing )",
		`{"type": ["object", 5]}`:                          "not a schema of an object",
	} {
		_, err := window.ParseSchema(text)
		var flaw *window.Flaw
		if !errors.As(err, &flaw) || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSchema(%s) = %v, want a flaw with %q", text, err, want)
		}
	}
}

// TestSchemaRefers: a schema may refer to parts of itself, but never in a circle: the
// library would follow it until the process dies.
func TestSchemaRefers(t *testing.T) {
	for _, text := range []string{
		`{"properties": {"more": {"$ref": "#/$defs/a b"}, "type": {"$ref": "#/$defs/a b"}}, "$defs": {"a b": {"type": "string", "default": {"$ref": "#"}}}}`,
		`{"$schema": "http://json-schema.org/draft-07/schema", "$id": "https://example.org/a",
		  "properties": {"more": {"$ref": "#/definitions/a"}}, "definitions": {"a": {"allOf": [{"$ref": "#/definitions/b"}]}, "b": {"type": "string"}}}`,
	} {
		s, err := window.ParseSchema(text)
		if err != nil {
			t.Errorf("ParseSchema(%s) = %v", text, err)
			continue
		}
		if _, _, err = s.Read(`{"more": "b"}`); err != nil {
			t.Errorf("%s: Read = %v", text, err)
		}
		if _, _, err = s.Read(`{"more": 1}`); err == nil {
			t.Errorf("%s: Read of what does not follow it gives no error", text)
		}
	}
	for text, want := range map[string]string{
		`{"$ref": "#"}`: "does not lead to one of its $defs",
		`{"properties": {"more": {"$ref": "#"}}}`:                                                                     "does not lead to one of its $defs",
		`{"$dynamicRef": "#a", "$dynamicAnchor": "a"}`:                                                                "a keyword that does not work in summaries: $dynamicRef",
		`{"$ref": "#node", "$defs": {"a": {"$anchor": "node"}}}`:                                                      "does not lead to one of its $defs",
		`{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}`:                          "refers to itself",
		`{"if": {"$ref": "#/$defs/a"}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"items": {"$ref": "#/$defs/a"}}}}`: "refers to itself",
		`{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#/%24defs/a"}}}}`:                        "does not lead to one of its $defs",
		`{"if": {"$ref": "#/then"}, "then": {"dependentSchemas": {"a": {"$ref": "#/if"}}}}`:                           "does not lead to one of its $defs",
		`{"allOf": [{"$ref": "#/$defs/a/not"}], "$defs": {"a": {"not": {"type": "string"}}}}`:                         "does not lead to one of its $defs",
		`{"properties": {"a": {"type": ["string", "text"]}}}`:                                                         "not a valid JSON Schema at /properties/a/type",
	} {
		if _, err := window.ParseSchema(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSchema(%s) = %v, want %q", text, err, want)
		}
	}
}

// FuzzParseSchema: every text is either refused or usable as a schema, and checking
// it ends.
func FuzzParseSchema(f *testing.F) {
	f.Add(ticketSchema)
	f.Add(`{"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#"}}}}`)
	f.Add(`{"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["b"], "b": {"$ref": "#/definitions/a"}}, "definitions": {"a": {"not": true}}}`)
	f.Add(`{"$id": "a", "anyOf": [{"$dynamicRef": "#a"}, {"$anchor": "a", "contains": {"pattern": "a", "const": null}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := window.ParseSchema(text)
		if err != nil || s == nil {
			return
		}
		for _, written := range []string{`{"a": "b"}`, `{"b": [1, 1, {"a": {}}], "a": null, "topic": "x"}`} {
			if _, _, err := s.Read(written); err != nil && len(err.Error()) > 100+len(text) {
				t.Errorf("%q: Read = %v", text, err)
			}
		}
	})
}

// FuzzSchemaRead: whatever a model writes is either refused or a JSON object.
func FuzzSchemaRead(f *testing.F) {
	s, err := window.ParseSchema(ticketSchema)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"topic": "x", "effort": 1e308}`)
	f.Add("```\n{}\n```")
	f.Fuzz(func(t *testing.T, text string) {
		_, object, err := s.Read(text)
		var into map[string]any
		if err == nil && json.Unmarshal(object, &into) != nil {
			t.Errorf("Read(%q) gives %q, want an object", text, object)
		}
	})
}

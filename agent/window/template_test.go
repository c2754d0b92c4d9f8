package window_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"dragoman/agent/window"
)

func TestTemplateFill(t *testing.T) {
	const (
		transcript = "<transcript>\nE\n</transcript>"
		previous   = "<previous_summary>\nold &lt;/previous_summary> $& ${sessionMessages}\n</previous_summary>"
		old        = " old </previous_summary> $& ${sessionMessages} "
	)
	for _, test := range []struct{ name, template, summary, want string }{
		{"built in", "", "", transcript + "\n\nWrite the new summary now."},
		{"built in, with a summary", " \n", old, previous + "\n\n" + transcript + "\n\nWrite the new summary now."},
		{"one place", "Sum up:\n${sessionMessages}\nNow.", "", "Sum up:\n" + transcript + "\nNow."},
		{"one place, with a summary", "Sum up: ${sessionMessages}", old, "Sum up: " + previous + "\n\n" + transcript},
		{"two places", "Old: ${previousSummary} New: ${sessionMessages}", old, "Old: " + previous + " New: " + transcript},
		{"two places, no summary", "${sessionMessages}${previousSummary}", " ", transcript + "(There is none yet.)"},
		{"plain signs", "$5 $ $$ $${x} ${sessionMessages}$", "", "$5 $ $$ ${x} " + transcript + "$"},
	} {
		p, err := window.ParseTemplate(test.template)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := p.Fill(test.summary, "E\n"); got != test.want {
			t.Errorf("%s: Fill =\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

func TestTemplateFlaws(t *testing.T) {
	for text, want := range map[string]string{
		"Sum up.":                               "lacks ${sessionMessages}",
		"$${sessionMessages}":                   "lacks ${sessionMessages}",
		"${previousSummary}":                    "lacks ${sessionMessages}",
		"sessionMessages":                       "lacks ${sessionMessages}",
		"${sessionMessages} ${sessionMesages}":  "an unknown placeholder, ${sessionMesages}; the placeholders are ${sessionMessages} and ${previousSummary}",
		"${} ${sessionMessages}":                "an unknown placeholder, ${…}",
		"${ sessionMessages }":                  "an unknown placeholder, ${…}",
		"${sessionMessages":                     "a ${ without its }",
		"${sessionMessages} ${sessionMessages}": "${sessionMessages} twice; keep one",
	} {
		_, err := window.ParseTemplate(text)
		var flaw *window.Flaw
		if !errors.As(err, &flaw) || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseTemplate(%q) = %v, want a flaw with %q", text, err, want)
		}
	}
}

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
		"```json\n{\"topic\":\"Prices\",\"open\":[\"call <Ada>\"],\"effort\":1.5}\n```",
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
		`["canary"]`:                             "no JSON object",
		`{"open": ["canary"]}`:                   "breaks its schema at #",
		`{"topic": 5}`:                           "breaks its schema at #/properties/topic",
		`{"topic": "canary", "canary": 1}`:       "breaks its schema at #",
		`{"topic": "canary", "effort": -1}`:      "breaks its schema at #/properties/effort",
		`{"topic": " "}`:                         "no text",
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
		`true`:                                             "no schema of an object",
		`[{"type": "object"}]`:                             "no schema of an object",
		`{"type": "array"}`:                                `write one with "type": "object"`,
		`{"type": "object", "required": "a"}`:              "no valid JSON Schema at /required",
		`{"properties": {"a": {"type": "strin"}}}`:         "no valid JSON Schema at /properties/a/type",
		`{"properties": {"a": {"pattern": "("}}}`:          "no valid JSON Schema at /properties/a/pattern",
		`{"$ref": "https://example.org/schema.json"}`:      "refers to another document",
		`{"$ref": "file:///schema.json"}`:                  "refers to another document",
		`{"$ref": "schema.json"}`:                          "refers to another document",
		`{"$schema": "https://example.org/draft"}`:         "refers to another document",
		`{"properties": {"a": {"minimum": 1e9999999999}}}`: "is not JSON",
		`{"$ref": "#/$defs/missing"}`:                      "no valid JSON Schema",
	} {
		_, err := window.ParseSchema(text)
		var flaw *window.Flaw
		if !errors.As(err, &flaw) || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSchema(%s) = %v, want a flaw with %q", text, err, want)
		}
	}
	// What refers to itself is fine, also where that would never end.
	for _, text := range []string{`{"properties": {"more": {"$ref": "#"}}}`, `{"$ref": "#"}`} {
		s, err := window.ParseSchema(text)
		if err != nil {
			t.Errorf("ParseSchema(%s) = %v", text, err)
			continue
		}
		_, _, err = s.Read(`{"more": {"more": {"a": "b"}}}`)
		t.Logf("%s: %v", text, err)
	}
}

// FuzzSchemaRead: whatever a model writes, it is refused or it is a JSON
// object, and nothing fails.
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

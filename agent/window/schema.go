package window

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a JSON Schema that summaries in the format [JSON] must follow, in
// place of [Fields].
type Schema struct {
	text     string
	compiled *jsonschema.Schema
}

// ParseSchema reads a JSON Schema (draft 4 to 2020-12) of an object; "" is
// none. It loads nothing from elsewhere. An error is a *Flaw.
func ParseSchema(text string) (*Schema, error) {
	if blank(text) {
		return nil, nil
	}
	// Decoded as numbers of Go: the validator fails on those of any size.
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, &Flaw{"is not JSON" + inLine(text, err), `write a JSON Schema, like {"type": "object", "required": ["summary"]}`}
	}
	root, isObject := doc.(map[string]any)
	if kind, given := root["type"]; !isObject || given && kind != "object" {
		return nil, &Flaw{"is no schema of an object", `write one with "type": "object"`}
	}
	const name = "summary:///schema"
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	if err := c.AddResource(name, doc); err != nil {
		return nil, &Flaw{"is no JSON Schema", "check its $id and $schema"}
	}
	compiled, err := c.Compile(name)
	var invalid *jsonschema.SchemaValidationError
	var elsewhere *jsonschema.LoadURLError
	switch {
	case errors.As(err, &elsewhere):
		return nil, &Flaw{"refers to another document", "write that into it, below $defs"}
	case errors.As(err, &invalid):
		return nil, &Flaw{"is no valid JSON Schema" + invalidAt(invalid.Err), "see json-schema.org"}
	case err != nil:
		return nil, &Flaw{"is no valid JSON Schema", "see json-schema.org"}
	}
	return &Schema{strings.TrimSpace(text), compiled}, nil
}

var errElsewhere = errors.New("window: nothing is loaded from elsewhere")

// nowhere keeps a schema from reading files or asking the network.
type nowhere struct{}

func (nowhere) Load(string) (any, error) { return nil, errElsewhere }

// inLine says where text stops being JSON, if that can be told.
func inLine(text string, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return ""
	}
	read := text[:min(max(int(syntax.Offset), 0), len(text))]
	return fmt.Sprintf(" (in its line %d)", 1+strings.Count(read, "\n"))
}

// innermost is the first thing that is wrong, below whatever contains it.
func innermost(err error) (*jsonschema.ValidationError, bool) {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return nil, false
	}
	for len(v.Causes) > 0 {
		v = v.Causes[0]
	}
	return v, true
}

// invalidAt says where a schema breaks the rules of schemas.
func invalidAt(err error) string {
	v, found := innermost(err)
	if !found || len(v.InstanceLocation) == 0 {
		return ""
	}
	return " at /" + strings.Join(v.InstanceLocation, "/")
}

// String is the schema for a model to read.
func (s *Schema) String() string { return s.text }

// Read returns what a model wrote, bare or in one code fence, if it is one
// JSON object that follows s and has any text in it: for people and models to
// read, and as it is. An error shows nothing of it but where s forbids it.
func (s *Schema) Read(text string) (shown string, object json.RawMessage, err error) {
	text = unfence(text)
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return "", nil, errors.New("window: the summary is not the JSON object that was asked for")
	}
	if _, isObject := value.(map[string]any); !isObject {
		return "", nil, errors.New("window: the summary is no JSON object")
	}
	if err := s.compiled.Validate(value); err != nil {
		at := "#"
		if v, found := innermost(err); found {
			_, at, _ = strings.Cut(v.SchemaURL, "#")
		}
		return "", nil, fmt.Errorf("window: the summary breaks its schema at #%s", strings.TrimPrefix(at, "#"))
	}
	if !hasText(value) {
		return "", nil, errors.New("window: there is no text in the summary's JSON object")
	}
	var compact, indented bytes.Buffer
	err = errors.Join(json.Compact(&compact, []byte(text)), json.Indent(&indented, compact.Bytes(), "", " "))
	return indented.String(), compact.Bytes(), err
}

// hasText reports whether any text stands in a decoded JSON value.
func hasText(value any) bool {
	switch v := value.(type) {
	case string:
		return !blank(v)
	case []any:
		for _, item := range v {
			if hasText(item) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if hasText(item) {
				return true
			}
		}
	}
	return false
}

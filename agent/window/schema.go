package window

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a JSON Schema that summaries in the format [JSON] must follow instead of
// [Fields].
type Schema struct {
	text     string
	resolved *jsonschema.Resolved
}

// ParseSchema parses a JSON Schema of an object (draft 7 if it says so, otherwise
// 2020-12); "" gives nil. References to other documents are not loaded. Errors are
// *Flaw.
func ParseSchema(text string) (*Schema, error) {
	if blank(text) {
		return nil, nil
	}
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, &Flaw{"is not JSON" + inLine(text, err), `write a JSON Schema, like {"type": "object", "required": ["summary"]}`}
	}
	root, isObject := doc.(map[string]any)
	if kind, given := root["type"]; !isObject || given && kind != "object" {
		return nil, &Flaw{"is not a schema of an object", `write one with "type": "object"`}
	}
	if flaw := SchemaFlaw(root); flaw != nil {
		return nil, flaw
	}
	resolved, err := resolve(root)
	if err != nil {
		if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			_, field, _ := strings.Cut(strings.TrimPrefix(kind.Field, "."), ".")
			return nil, invalid(fmt.Sprintf(": a %s is not a %s", kind.Value, field))
		}
		return nil, invalid(": " + strings.TrimPrefix(err.Error(), "jsonschema: "))
	}
	return &Schema{strings.TrimSpace(text), resolved}, nil
}

// resolve hands the checked schema to the library, encoded anew: in the original text
// a key could appear twice.
func resolve(root map[string]any) (*jsonschema.Resolved, error) {
	text, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	if strings.Contains(schema.Schema, "draft-07") { // people write it in several ways
		schema.Schema = "http://json-schema.org/draft-07/schema#"
	}
	return schema.Resolve(&jsonschema.ResolveOptions{BaseURI: "summary:///schema"})
}

// inLine returns the line where text stops being JSON, if that is known.
func inLine(text string, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return ""
	}
	read := text[:min(max(int(syntax.Offset), 0), len(text))]
	return fmt.Sprintf(" (in its line %d)", 1+strings.Count(read, "\n"))
}

// brokenAt returns the place in the schema that an invalid value breaks. The library
// reports it only in text, which also shows the value: each error begins with its own
// place and wraps the one further in.
func brokenAt(err error) string {
	place := ""
	for inner := errors.Unwrap(err); inner != nil; err, inner = inner, errors.Unwrap(inner) {
		words := strings.TrimSuffix(err.Error(), ": "+inner.Error())
		if at, found := strings.CutPrefix(words, "validating /"); found {
			place = "/" + at
		}
	}
	return "#" + place
}

// String returns the schema for a model to read.
func (s *Schema) String() string { return s.text }

// Read checks that text, which a model wrote, is one JSON object that follows s. It
// returns the object indented for people and models, and compact. An error quotes
// nothing of text, only the place in the schema.
func (s *Schema) Read(text string) (shown string, object json.RawMessage, err error) {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return "", nil, errors.New("window: the summary is not the JSON object that was asked for")
	}
	if _, isObject := value.(map[string]any); !isObject {
		return "", nil, errors.New("window: the summary is not a JSON object")
	}
	if err := s.resolved.Validate(value); err != nil {
		return "", nil, fmt.Errorf("window: the summary breaks its schema at %s", brokenAt(err))
	}
	var compact, indented bytes.Buffer
	err = errors.Join(json.Compact(&compact, []byte(text)), json.Indent(&indented, compact.Bytes(), "", " "))
	return indented.String(), compact.Bytes(), err
}

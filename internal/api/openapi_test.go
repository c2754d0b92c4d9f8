package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dragoman/internal/api"

	"github.com/google/go-cmp/cmp"
)

// pathArgument is an argument in a path.
var pathArgument = regexp.MustCompile(`\{(\w+)\}`)

// operationID names a verb for programs that make clients: getConversationsKeyMessages.
func operationID(r api.Route) string {
	id := strings.ToLower(r.Method)
	for part := range strings.FieldsFuncSeq(r.Path, func(c rune) bool { return strings.ContainsRune("/{}._", c) }) {
		id += strings.ToUpper(part[:1]) + part[1:]
	}
	return id
}

// describe is the table as an OpenAPI 3.1 document.
func describe(t *testing.T) object {
	t.Helper()
	s := newSchemas(t)
	paths := object{}
	for _, r := range api.Table() {
		path, _ := paths[r.Path].(object)
		if path == nil {
			path = object{}
			paths[r.Path] = path
		}
		path[strings.ToLower(r.Method)] = s.operation(r)
	}
	s.components["Refusal"] = object{
		"type": "object", "required": []string{"error"},
		"properties": object{"error": object{
			"type": "object", "required": []string{"message", "type", "param", "code"},
			"properties": object{
				"message": object{"type": "string", "description": "A sentence for people."},
				"type":    object{"type": "string", "enum": []string{"invalid_request_error", "rate_limit_error", "server_error"}},
				"param":   object{"type": []string{"string", "null"}, "description": "The argument that is wrong."},
				"code":    object{"type": "string", "description": "The word on which programs branch."},
			},
		}},
	}
	names := []string{}
	for _, e := range api.EventTypes() {
		names = append(names, e.Name)
	}
	s.components["Event"].(object)["properties"].(object)["event"].(object)["enum"] = names
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Dragoman", "version": "1", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "Everything that the dragoman command does with a running daemon. See docs/api.md.",
		},
		"servers": []any{object{"url": api.Root}},
		"paths":   paths,
		"components": object{
			"schemas":         s.components,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "A token of `dragoman token create`. The operator's socket needs none."}},
			"responses": object{"Refusal": object{
				"description": "The request was refused.", "content": inJSON(object{"$ref": "#/components/schemas/Refusal"}),
			}},
		},
	}
}

func inJSON(schema object) object {
	return object{"application/json": object{"schema": schema}}
}

// operation is one verb.
func (s *schemas) operation(r api.Route) object {
	also := object{} // the responses
	properties, required := s.arguments(r)
	parameters := []any{}
	for _, found := range pathArgument.FindAllStringSubmatch(r.Path, -1) {
		parameters = append(parameters, parameter(found[1], "path", properties[found[1]].(object), true))
		delete(properties, found[1])
	}
	required = slices.DeleteFunc(required, func(name string) bool { return properties[name] == nil })
	op := object{
		"operationId": operationID(r), "summary": r.Doc, "tags": []string{strings.Split(r.Path, "/")[1]},
		"security": []any{object{"token": []string{string(r.Scope)}}}, "x-scope": string(r.Scope),
	}
	if r.OwnSecret {
		op["security"] = []any{}
		op["x-scope"] = "its own secret"
		again := s.success(r)
		again["description"] = "A repeat, which leads to nothing more."
		also["200"] = again
	}
	switch {
	case r.OwnSecret:
		op["requestBody"] = object{"required": true, "content": object{"*/*": object{"schema": object{}}}}
	case r.Raw():
		op["requestBody"] = object{"required": true, "content": object{"application/x-ndjson": object{"schema": object{}}}}
	case r.InBody():
		body := object{"type": "object", "properties": properties, "additionalProperties": false}
		if len(required) > 0 {
			slices.Sort(required)
			body["required"] = required
		}
		op["requestBody"] = object{"required": len(required) > 0, "content": inJSON(body)}
	default:
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			parameters = append(parameters, parameter(name, "query", properties[name].(object), slices.Contains(required, name)))
		}
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	if r.Socket {
		op["x-socket-only"] = true
	}
	also[strconv.Itoa(r.Success())] = s.success(r)
	also["default"] = object{"$ref": "#/components/responses/Refusal"}
	op["responses"] = also
	return op
}

// parameter is an argument in the path or in the query.
func parameter(name, in string, schema object, required bool) object {
	p := object{"name": name, "in": in, "schema": schema}
	if name == "limit" {
		schema["minimum"] = 1
		schema["maximum"] = 200
	}
	if required {
		p["required"] = true
	}
	if words, found := schema["description"]; found {
		p["description"] = words
		delete(schema, "description")
	}
	if schema["type"] == "object" {
		p["style"] = "form"
		p["description"] = "As " + name + ".NAME=VALUE."
	}
	return p
}

// success is the answer of a verb.
func (s *schemas) success(r api.Route) object {
	switch {
	case r.Answer == reflect.TypeFor[api.None]():
		return object{"description": http.StatusText(r.Success())}
	case r.Media == "" || r.Media == "application/json":
		return object{"description": http.StatusText(r.Success()), "content": inJSON(s.of(r.Answer))}
	}
	if r.Media == "application/octet-stream" {
		return object{"description": "The file.", "content": object{r.Media: object{}}}
	}
	if strings.Contains(r.Media, ", ") {
		content := object{}
		for kind := range strings.SplitSeq(r.Media, ", ") {
			content[kind] = object{}
		}
		return object{"description": "A file.", "content": content}
	}
	return object{
		"description": "A stream. The schema is that of each line, or of each event's data.",
		"content":     object{r.Media: object{"schema": s.of(r.Answer)}},
	}
}

// docs/openapi.json is what the table says. UPDATE=1 writes it.
func TestOpenAPI(t *testing.T) {
	want, err := json.MarshalIndent(describe(t), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	checkFile(t, "TestOpenAPI", "openapi.json", append(want, '\n'))
}

// checkFile compares a file of docs, which a test of that name writes.
func checkFile(t *testing.T, test, name string, want []byte) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", name)
	is, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if bytes.Equal(is, want) {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("%s is old: UPDATE=1 go test ./internal/api -run %s\n%s", path, test, cmp.Diff(strings.Split(string(is), "\n"), strings.Split(string(want), "\n")))
	}
	if err := os.WriteFile(path, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Each verb is one operation with a name of its own, and everything that the document
// refers to is in it.
func TestOpenAPIIsWhole(t *testing.T) {
	text, err := json.Marshal(describe(t))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, path := range doc.Paths {
		for _, op := range path {
			names[op.OperationID] = true
		}
	}
	if len(names) != len(api.Table()) {
		t.Errorf("%d names for %d verbs", len(names), len(api.Table()))
	}
	for _, found := range regexp.MustCompile(`#/components/schemas/(\w+)`).FindAllSubmatch(text, -1) {
		if doc.Components.Schemas[string(found[1])] == nil {
			t.Errorf("there is no schema %s", found[1])
		}
	}
	w := asked(api.New(optionsOf(filled(t))), "GET", api.Root+"/openapi.json", "")
	if w.Code != 200 || !strings.HasPrefix(w.Body.String(), `{"openapi"`) && !strings.Contains(w.Body.String(), `"openapi":"3.1.0"`) {
		t.Errorf("GET /openapi.json = %d %.60s", w.Code, w.Body)
	}
}

package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// typeScript is the types of a description, for people who write clients by hand.
func typeScript(doc object) []byte {
	var out strings.Builder
	out.WriteString("// The types of Dragoman's API, made from openapi.json by a test. Do not edit.\n")
	components := doc["components"].(object)["schemas"].(object)
	for _, name := range slices.Sorted(maps.Keys(components)) {
		schema := components[name].(object)
		comment(&out, "", schema["description"])
		if schema["type"] == "object" {
			fmt.Fprintf(&out, "export interface %s %s\n", name, typeOf(schema, ""))
		} else {
			fmt.Fprintf(&out, "export type %s = %s;\n", name, typeOf(schema, ""))
		}
	}
	out.WriteString("\n/** The verbs, by method and path. */\nexport interface Operations {\n")
	paths := doc["paths"].(object)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		methods := paths[path].(object)
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			operationType(&out, strings.ToUpper(method)+" "+path, methods[method].(object))
		}
	}
	out.WriteString("}\n")
	return []byte(out.String())
}

// comment writes words before a declaration.
func comment(out *strings.Builder, indent string, words any) {
	if text, _ := words.(string); text != "" {
		fmt.Fprintf(out, "%s/** %s */\n", indent, strings.ReplaceAll(text, "*/", "* /"))
	}
}

// operationType writes the types of one verb.
func operationType(out *strings.Builder, name string, op object) {
	comment(out, "  ", op["summary"])
	fmt.Fprintf(out, "  %q: {\n", name)
	given := map[string]object{"path": {}, "query": {}}
	needed := map[string][]any{}
	parameters, _ := op["parameters"].([]any)
	for _, one := range parameters {
		p := one.(object)
		in := p["in"].(string)
		given[in][p["name"].(string)] = p["schema"]
		if p["required"] == true {
			needed[in] = append(needed[in], p["name"])
		}
	}
	for _, in := range []string{"path", "query"} {
		if len(given[in]) > 0 {
			schema := object{"type": "object", "properties": given[in], "required": needed[in]}
			fmt.Fprintf(out, "    %s: %s;\n", in, typeOf(schema, "    "))
		}
	}
	if body, found := op["requestBody"].(object); found {
		fmt.Fprintf(out, "    body: %s;\n", contentType(body, "    "))
	}
	answers := map[string]bool{} // several statuses may have one type
	for status, response := range op["responses"].(object) {
		if status != "default" {
			answers[contentType(response.(object), "    ")] = true
		}
	}
	fmt.Fprintf(out, "    answer: %s;\n", strings.Join(slices.Sorted(maps.Keys(answers)), " | "))
	out.WriteString("  };\n")
}

// contentType is the type of a body, void without one.
func contentType(of object, indent string) string {
	content, _ := of["content"].(object)
	for _, one := range content {
		schema, found := one.(object)["schema"].(object)
		if !found {
			return "Blob"
		}
		return typeOf(schema, indent)
	}
	return "void"
}

// typeOf is the type for a schema.
func typeOf(schema object, indent string) string {
	if ref, found := schema["$ref"].(string); found {
		return ref[strings.LastIndexByte(ref, '/')+1:]
	}
	if words, found := schema["enum"].([]any); found {
		var all []string
		for _, word := range words {
			all = append(all, fmt.Sprintf("%q", word))
		}
		return strings.Join(all, " | ")
	}
	if any, found := schema["anyOf"].([]any); found {
		var all []string
		for _, one := range any {
			all = append(all, typeOf(one.(object), indent))
		}
		return strings.Join(all, " | ")
	}
	if several, found := schema["type"].([]any); found {
		return strings.Join([]string{typeOf(object{"type": several[0]}, indent), typeOf(object{"type": several[1]}, indent)}, " | ")
	}
	switch schema["type"] {
	case "string", "boolean", "null":
		return schema["type"].(string)
	case "integer", "number":
		return "number"
	case "array":
		return "(" + typeOf(schema["items"].(object), indent) + ")[]"
	case "object":
		return objectType(schema, indent)
	}
	return "unknown"
}

func objectType(schema object, indent string) string {
	properties, found := schema["properties"].(object)
	if !found {
		return "{ [name: string]: " + typeOf(schema["additionalProperties"].(object), indent) + " }"
	}
	required, _ := schema["required"].([]any)
	var out strings.Builder
	out.WriteString("{\n")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		one := properties[name].(object)
		comment(&out, indent+"  ", one["description"])
		optional := "?"
		if slices.Contains(required, any(name)) {
			optional = ""
		}
		fmt.Fprintf(&out, "%s  %s%s: %s;\n", indent, name, optional, typeOf(one, indent+"  "))
	}
	out.WriteString(indent + "}")
	return out.String()
}

// docs/openapi.d.ts is what docs/openapi.json says. UPDATE=1 writes it.
func TestOpenAPITypes(t *testing.T) {
	text, err := json.Marshal(describe(t))
	if err != nil {
		t.Fatal(err)
	}
	var doc object
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	checkFile(t, "TestOpenAPITypes", "openapi.d.ts", typeScript(doc))
}

// useOfTypes is a program that the types must allow, but for its last lines.
const useOfTypes = `import type { Conversation, Event, Operations, Refusal } from "./openapi";

type List = Operations["GET /conversations"];
const query: List["query"] = { limit: 10, mine: true };
const page: List["answer"] = { data: [] };
const keys: string[] = page.data.map((c: Conversation) => c.key);
const question: Operations["POST /ask"]["body"] = { key: "web:default", text: "hello" };
const nothing: Operations["DELETE /conversations/{key}"]["answer"] = undefined;
function words(e: Event, no: Refusal): string { return (e.text ?? "") + no.error.message + (no.error.param ?? ""); }
export { query, keys, question, nothing, words };
// @ts-expect-error a question has a text
export const wrong: Operations["POST /ask"]["body"] = { key: "web:default" };
// @ts-expect-error there is no such event
export const unknown: Event["event"] = "nothing";
`

// The types are TypeScript that a strict compiler takes, and they say what is wrong.
func TestOpenAPITypesCompile(t *testing.T) {
	node := testkit.Need(t, "node")
	compiler := filepath.Join("..", "..", ".cache", "typescript", "node_modules", "typescript", "lib", "tsc.js")
	if _, err := os.Stat(compiler); err != nil {
		if testkit.NeedAll() {
			t.Fatalf("typescript is not installed: run make need (%v)", err)
		}
		t.Skip("typescript is not installed: run make need")
	}
	types, err := os.ReadFile(filepath.Join("..", "..", "docs", "openapi.d.ts"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"openapi.d.ts": string(types), "use.ts": useOfTypes} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(node, compiler, "--strict", "--noEmit", "--target", "es2022", "--lib", "es2022,dom", "--module", "es2022",
		"--moduleResolution", "bundler", filepath.Join(dir, "use.ts"), filepath.Join(dir, "openapi.d.ts")).CombinedOutput()
	if err != nil {
		t.Errorf("tsc --strict: %v\n%s", err, out)
	}
	if !regexp.MustCompile(`export interface \w+ \{`).Match(types) || len(api.Table()) < 10 {
		t.Error("there are no types")
	}
}

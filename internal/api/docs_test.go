package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/internal/api"
)

// docs/api.md lists the verbs of the table. UPDATE=1 writes it.
func TestDocumentation(t *testing.T) {
	var want strings.Builder
	want.WriteString("| verb | scope | what it does |\n|---|---|---|\n")
	for _, r := range api.Table() {
		scope := string(r.Scope)
		switch {
		case r.Socket:
			scope = "socket"
		case r.OwnSecret:
			scope = "its own secret"
		}
		fmt.Fprintf(&want, "| `%s %s` | %s | %s |\n", r.Method, r.Path, scope, r.Doc)
	}
	checkTable(t, "TestDocumentation", want.String())
}

// docs/api.md lists the events.
func TestEventDocumentation(t *testing.T) {
	var want strings.Builder
	want.WriteString("| event | id | what has happened |\n|---|---|---|\n")
	for _, e := range api.EventTypes() {
		id := ""
		if e.Durable {
			id = "yes"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", e.Name, id, e.Doc)
	}
	checkTable(t, "TestEventDocumentation", want.String())
}

// checkTable compares a table of docs/api.md, which a test of that name makes.
func checkTable(t *testing.T, test, want string) {
	t.Helper()
	begin, end := "-run "+test+" -->\n", "<!-- end -->"
	path := filepath.Join("..", "..", "docs", "api.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(text), begin)
	is, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table", path)
	}
	if is == want {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("the table in %s is old: UPDATE=1 go test ./internal/api -run %s", path, test)
	}
	if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/agent/mcp"
	"dragoman/agent/mcp/mcptest"
)

// A server goes on when its data change, and ends when its script does, or its program.
func TestChangedProgram(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	script := filepath.Join(home, "bad", "run.sh")
	data := filepath.Join(home, "bad", "data.json")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Dir(script), 0o700); err != nil {
		t.Fatal(err)
	}
	write(script, "exec '"+strings.Join(mcptest.Command("good"), "' '")+"'\n")
	write(data, "{}")
	server := mcp.Server{Name: "bad", Command: []string{"/bin/sh", "run.sh", data}}
	store := &notes{}
	try := func() error {
		pool := mcp.New([]mcp.Server{server}, store, mcp.Options{Home: home})
		defer pool.Close()
		pool.Tools(t.Context())
		_, err := say(t, pool, "bad__echo", "still here")
		return err
	}
	if err := try(); err != nil {
		t.Fatal(err)
	}
	write(data, `{"changed": true}`)
	if err := try(); err != nil {
		t.Errorf("after its data changed: %v", err)
	}
	write(script, "exec '"+strings.Join(mcptest.Command("good"), "' '")+"' # changed\n")
	if err := try(); err == nil || !strings.Contains(err.Error(), "(run.sh)") {
		t.Errorf("after its script changed: %v, want that it is not started", err)
	}
}

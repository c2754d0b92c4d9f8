package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// Hands is the command of one of npm's servers of tools, such as "everything", which make
// test-hands installs. Without them t is skipped.
func Hands(t testing.TB, name string) []string {
	t.Helper()
	folder := os.Getenv("DRAGOMAN_HANDS")
	if folder == "" {
		t.Skip("make test-hands installs npm's servers and runs this")
	}
	return []string{Need(t, "node"), filepath.Join(folder, "node_modules/@modelcontextprotocol/server-"+name, "dist/index.js")}
}

package tools_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/agent"
	"dragoman/agent/tools"
)

// Pages of any size from any offset are valid text, however wide the characters, and
// lead to the end.
func TestSmallestPages(t *testing.T) {
	dir := t.TempDir()
	w, err := tools.OpenWorkspace(dir, tools.WorkspaceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	const text = "a😀😀é\n字😀"
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tool := tools.ReadFile(w)
	for offset := range len(text) {
		for limit := 1; limit <= len(text)+1; limit++ {
			args := json.RawMessage(fmt.Sprintf(`{"path":"f","offset":%d,"limit":%d}`, offset, limit))
			got, err := tool.Run(t.Context(), agent.Call{Args: args})
			if err != nil {
				t.Fatalf("%s: %v", args, err)
			}
			head, page, found := strings.Cut(got, "\n")
			if !found || !strings.HasPrefix(head, "[") {
				head, page = "", got
			}
			if !utf8.ValidString(page) || !strings.Contains(text, page) {
				t.Errorf("%s: the page is %q", args, page)
			}
			if strings.Contains(head, "go on with") && page == "" || strings.HasSuffix(head, fmt.Sprintf("offset %d]", len(text))) {
				t.Errorf("%s: %q, and %q", args, head, page)
			}
		}
	}
}

// Private paths are found through links, even before they exist.
func TestWorkspaceRefusesFutureSecrets(t *testing.T) {
	dir := t.TempDir()
	ws, link := filepath.Join(dir, "ws"), filepath.Join(dir, "link")
	if err := os.Mkdir(ws, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(ws, link); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"dragoman.db", "state/dragoman.db"} {
		w, err := tools.OpenWorkspace(ws, tools.WorkspaceOptions{Private: []string{filepath.Join(link, secret)}})
		if err == nil {
			_ = w.Close()
			t.Errorf("a workspace was opened that will hold %s", secret)
		}
	}
}

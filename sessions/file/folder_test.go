package file_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder may have any name, also one that would be a pattern in a shell.
func TestFolderNamedLikeAPattern(t *testing.T) {
	for _, name := range []string{"a[b", "a[b]", "*?", `a\`} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.dir = filepath.Join(t.TempDir(), name, "sessions")
			s := p.open(t)
			say(t, s, "x:1", "1", "one")
			must(t, s.Close())
			// All that finds the documents and what a crash left behind.
			draft := p.path("conversations/x_1.json.draft")
			must(t, os.WriteFile(draft, []byte("half"), 0o600))
			must(t, os.Remove(p.path("rows.db")))
			s = p.open(t)
			if _, err := os.Lstat(draft); err == nil {
				t.Error("the draft is still there")
			}
			if ms, err := s.Messages(t.Context(), key("x:1"), 0, 9); err != nil || len(ms) != 1 {
				t.Errorf("Messages = %+v, %v", ms, err)
			}
		})
	}
}

package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/sessions/file"
)

// A folder of somebody's own is refused before anything is made in it or its
// mode is changed.
func TestOpenRefusesOtherFolders(t *testing.T) {
	for _, name := range []string{"notes.txt", "log/today.jsonl", "conversations/1.json", "lock", "store.json"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(path, []byte(`{"mine":1}`), 0o644), os.Chmod(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
		if s, err := file.Open(t.Context(), dir, file.Options{}); !errors.Is(err, file.ErrForeign) {
			t.Errorf("Open of a folder with %s = %v, %v", name, s, err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("with %s it then holds %v, %v", name, entries, err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("with %s it then has mode %v, %v", name, info.Mode(), err)
		}
	}
}

// Each file that only a store has is enough to know one, and a first start
// that was cut short is no hindrance.
func TestLook(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	look := func(when string, want bool) {
		t.Helper()
		if got, err := file.Look(dir); got != want || err != nil {
			t.Errorf("%s: Look = %v, %v", when, got, err)
		}
	}
	look("nothing", false)
	for _, sub := range []string{"conversations", "archive", "jobs", "log"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	look("empty folders", false)
	s := openWith(t, dir, file.Options{})
	look("open", true)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	look("closed", true)
	for _, name := range []string{"rows.db", "log"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		look("without "+name, true)
	}
}

// What a newer version wrote is found without opening the store, whichever of
// its files says so; a damaged file is no newer one.
func TestNewer(t *testing.T) {
	for name, test := range map[string]struct {
		file, text string
		newer      bool
	}{
		"nothing":           {file: "notes"},
		"what all share":    {file: "store.json", text: `{"format": 99, "lsn": 1}`, newer: true},
		"a document":        {file: "conversations/x%3A1.json", text: "{\n  \"format\": 99,\n  \"key\": \"x:1\"}", newer: true},
		"a job":             {file: "jobs/x%3A1.json", text: `{"format":99,"key":"heartbeat:1"}`, newer: true},
		"a document of now": {file: "conversations/x%3A1.json", text: `{"format":3,"key":"x:1"}`},
		"a damaged one":     {file: "conversations/x%3A1.json", text: `{"format":99999999999999999999999,"ke`},
		"an empty one":      {file: "conversations/x%3A1.json"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := closedStore(t)
			must(t, os.WriteFile(filepath.Join(dir, test.file), []byte(test.text), 0o600))
			err := file.Newer(dir)
			if test.newer != (err != nil && strings.Contains(err.Error(), "newer version")) || !test.newer && err != nil {
				t.Errorf("Newer = %v, want one: %t", err, test.newer)
			}
		})
	}
	// A store in use may lose a document between its name and its first bytes,
	// which is what a link to nothing is.
	dir := closedStore(t)
	must(t, os.Symlink("nothing", filepath.Join(dir, "conversations", "x%3A1.json")))
	if err := file.Newer(dir); err != nil {
		t.Errorf("Newer of a store whose document went meanwhile = %v", err)
	}
	if err := file.Newer(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Errorf("Newer of nothing = %v", err)
	}
}

// closedStore is the directory of an empty store that nobody has open.
func closedStore(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := openWith(t, dir, file.Options{})
	must(t, s.Close())
	return dir
}

package file_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/sessions"
)

// No document of a store that is too new is written.
func TestTooNew(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "one")
	must(t, s.Close())
	edit(t, p, "conversations/x_1.json", `"format": 3`, `"format": 7`)
	before := contents(t, p.dir)
	_, err := openAt(t, p.dir)
	newer := &sessions.NewerError{}
	if want := p.path("conversations/x_1.json"); !errors.As(err, &newer) || newer.Path != want || newer.Has != 7 {
		t.Errorf("Open = %v, want that %s is newer", err, want)
	}
	if diff := cmp.Diff(before, contents(t, p.dir)); diff != "" {
		t.Errorf("a store that cannot be read was written to (-before +after):\n%s", diff)
	}
}

// contents are the files below dir but the rows and the lock, by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() != "lock" && !strings.HasPrefix(e.Name(), "rows.db") {
			rel, _ := filepath.Rel(dir, path)
			all[rel] = string(read(t, path))
		}
		return err
	}))
	return all
}

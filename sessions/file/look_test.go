package file_test

import (
	"errors"
	"os"
	"path/filepath"
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
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	look("open", true)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	look("closed", true)
	for _, name := range []string{"log", "index.json"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		look("without "+name, true)
	}
}

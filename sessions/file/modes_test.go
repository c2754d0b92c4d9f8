package file_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/file"
)

// TestCase43Modes: what others could read is closed to them when it is used
// again; nothing is ever made that they could.
func TestCase43Modes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	say := func(id string) {
		t.Helper()
		s := openWith(t, dir, file.Options{})
		in := channels.Inbound{Key: channels.MustKey("x:1"), ID: id, Sender: channels.Person{IDs: []string{"7"}}, Text: "secret"}
		_, err := s.Accept(t.Context(), sessions.Entry{Inbound: in, Answered: true, Append: []sessions.Message{{Role: sessions.RoleUser, Content: "secret"}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	closed := func(when string) {
		t.Helper()
		files := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			want := fs.FileMode(0o600)
			if d.IsDir() {
				want = 0o700
			} else {
				files++
			}
			if got := info.Mode().Perm(); got != want {
				name, _ := filepath.Rel(dir, path)
				t.Errorf("%s: %s has mode %o, want %o", when, name, got, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if files < 3 {
			t.Errorf("%s: only %d files", when, files)
		}
	}
	say("1")
	closed("made anew")
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	say("2")
	closed("after others could read it")
}

package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"dragoman/sessions"
	"dragoman/sessions/file"
)

// A folder, a pipe or an unreadable file in the place of a document is set aside like
// any damage: it neither ends the start nor blocks it.
func TestCase42NoFileInTheFolder(t *testing.T) {
	whole := newPlace(t)
	s := whole.open(t)
	fill(t, s)
	want := dump(t, s)
	must(t, s.Close())
	odd := map[string]func(path string) error{
		"a folder":             func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":               func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to itself":     func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"what may not be read": func(path string) error { return os.WriteFile(path, []byte("{}"), 0) },
	}
	for name, put := range odd {
		for _, rows := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				p := whole.crash(t)
				path := p.path("conversations/x_long.json")
				must(t, os.Remove(path))
				must(t, put(path))
				if !rows {
					must(t, os.Remove(p.path("rows.db")))
				}
				s := p.open(t)
				if ms, err := s.Messages(t.Context(), key("x:long"), 0, 999); err != nil || len(ms) != 300 {
					t.Errorf("%d messages, %v", len(ms), err)
				}
				if rows {
					same(t, "Dump", dump(t, s), want)
				}
				say(t, s, "x:long", "next", "next")
				must(t, s.Close())
				p.says(t, "level=ERROR", "key=x:long", "x_long.json.corrupt-")
				s = p.open(t)
				p.quiet(t)
				must(t, s.Close())
			})
		}
	}
}

// An archive that may not be read, as after a restore with the wrong owner, ends the
// start and changes nothing. Once it may be read, nothing is missing.
func TestCase42ArchiveThatMayNotBeRead(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	fill(t, s)
	want := len(dump(t, s, key("x:set")))
	must(t, s.Close())
	must(t, os.Remove(p.path("rows.db")))
	path := p.path("conversations/x_long.json")
	must(t, os.WriteFile(path, []byte("{"), 0o600))
	t.Run("not now", func(t *testing.T) {
		file.OnRead(t, func(string) error { return os.ErrPermission })
		if _, err := openAt(t, p.dir); !errors.Is(err, os.ErrPermission) {
			t.Errorf("Open = %v", err)
		}
		same(t, "the document", string(read(t, path)), "{")
		same(t, "set aside", len(p.aside(t)), 0)
	})
	s = p.open(t)
	same(t, "Dump", len(dump(t, s, key("x:set"))), want)
	if ms, err := s.Messages(t.Context(), key("x:long"), 0, 999); err != nil || len(ms) != 300 {
		t.Errorf("%d messages, %v", len(ms), err)
	}
	must(t, s.Close())
}

// The same in the place of an archive: the messages in the document are kept, and so
// are the other conversations.
func TestCase42NoFileInTheArchive(t *testing.T) {
	whole := newPlace(t)
	s := whole.open(t)
	fill(t, s)
	must(t, s.Close())
	for name, put := range map[string]func(path string) error{
		"a folder":         func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":           func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to itself": func(path string) error { return os.Symlink(filepath.Base(path), path) },
	} {
		for _, rows := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", rows ", rows), func(t *testing.T) {
				p := whole.crash(t)
				path := p.path("archive/x_long.jsonl")
				must(t, os.Remove(path))
				must(t, put(path))
				if !rows {
					must(t, os.Remove(p.path("rows.db")))
				}
				s := p.open(t)
				if list, err := s.Find(t.Context(), sessions.Query{Limit: 99}); err != nil || len(list) != 5 {
					t.Errorf("Find = %+v, %v", list, err)
				}
				say(t, s, "x:long", "next", "next")
				must(t, s.Close())
				p.says(t, "level=ERROR", "an archive is damaged", "x_long.jsonl.corrupt-")
				s = p.open(t)
				ms, err := s.Messages(t.Context(), key("x:long"), 299, 9)
				if err != nil || len(ms) != 2 {
					t.Errorf("Messages = %+v, %v", ms, err)
				}
				p.quiet(t)
				must(t, s.Close())
			})
		}
	}
}

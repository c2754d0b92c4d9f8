package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/file"
)

// One thing in the place of a document that is no file, or cannot be read, is
// set aside like any damage: it neither ends the start nor holds it up.
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
		for _, index := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				p := whole.crash(t)
				path := p.path("conversations/x_long.json")
				must(t, os.Remove(path))
				must(t, put(path))
				if !index {
					must(t, os.Remove(p.path("index.json")))
				}
				s := p.open(t)
				same(t, "Dump", dump(t, s), want)
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

// An archive that may not be read now, as after a restore with the wrong owner,
// shuts its conversation and no other, and nothing of it is written or set
// aside: when it can be read again all is there, and what was accepted before
// is known.
func TestCase42ArchiveThatMayNotBeRead(t *testing.T) {
	whole := newPlace(t)
	s := whole.open(t)
	fill(t, s)
	_, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:long", "waits", "are you there?")})
	must(t, err)
	must(t, s.Close())
	// The same, and a message that only the log has.
	logged := whole.crash(t)
	s = logged.open(t)
	say(t, s, "x:long", "late", "late")
	t.Cleanup(func() { must(t, s.Close()) })
	for name, spoil := range map[string]func(t *testing.T, p *place){
		"a document that is damaged": func(t *testing.T, p *place) { must(t, os.WriteFile(p.path(document), []byte("{"), 0o600)) },
		"a document that is gone":    func(t *testing.T, p *place) { must(t, os.Remove(p.path(document))) },
		"no index":                   func(t *testing.T, p *place) { must(t, os.Remove(p.path("index.json"))) },
		"neither": func(t *testing.T, p *place) {
			must(t, os.WriteFile(p.path(document), []byte("{"), 0o600))
			must(t, os.Remove(p.path("index.json")))
		},
	} {
		for from, p := range map[string]*place{"": whole.crash(t), ", and a log": logged.crash(t)} {
			t.Run(name+from, func(t *testing.T) { shutAndOpen(t, p, spoil) })
		}
	}
}

func shutAndOpen(t *testing.T, p *place, spoil func(*testing.T, *place)) {
	s := p.crash(t).open(t)
	want := dump(t, s, key("x:long"))
	must(t, s.Close())
	spoil(t, p)
	before, beforeErr := os.ReadFile(p.path(document))
	kept := read(t, p.path(archive))
	t.Run("not now", func(t *testing.T) {
		file.FailRead(t, func(path string) error {
			if path == p.path(archive) {
				return os.ErrPermission
			}
			return nil
		})
		for life := range 2 {
			s := p.open(t)
			for what, err := range refusals(t, s) {
				if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "x_long.jsonl cannot be read") {
					t.Errorf("%s = %v, want that the archive cannot be read", what, err)
				}
			}
			say(t, s, "x:1", fmt.Sprint("life ", life), "hello")
			say(t, s, fmt.Sprint("x:other", life), fmt.Sprint("other ", life), "hello")
			if gone, err := s.Expire(t.Context(), time.Now().AddDate(1, 0, 0), 1); err != nil || len(gone) != 1 {
				t.Errorf("Expire = %v, %v, want one of the others", gone, err)
			}
			must(t, s.Close())
			p.says(t, "level=ERROR", "a conversation is shut, the others go on", "key=x:long")
		}
	})
	if after, err := os.ReadFile(p.path(document)); string(after) != string(before) || (err == nil) != (beforeErr == nil) {
		t.Errorf("the document is now %.40q, %v", after, err)
	}
	same(t, "the archive", string(read(t, p.path(archive))), string(kept))
	same(t, "set aside", len(p.aside(t)), 0)
	s = p.open(t)
	same(t, "Dump", dump(t, s, key("x:long")), want)
	a, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:long", "l7", "/x")})
	if err != nil || a.Outcome != sessions.Duplicate {
		t.Errorf("Accept of what came before = %+v, %v, want that it is known", a, err)
	}
	must(t, s.Close())
}

// The files of the conversation that is shut.
const (
	document = "conversations/x_long.json"
	archive  = "archive/x_long.jsonl"
)

// refusals are what comes of using a conversation that is shut.
func refusals(t *testing.T, s sessions.Store) map[string]error {
	ctx := t.Context()
	_, accept := s.Accept(ctx, sessions.Entry{Inbound: in("x:long", "new", "hello")})
	_, again := s.Accept(ctx, sessions.Entry{Inbound: in("x:long", "l7", "/x")})
	_, messages := s.Messages(ctx, key("x:long"), 0, 10)
	_, erase := s.Erase(ctx, sessions.Erasure{Keys: []channels.Key{key("x:long")}})
	return map[string]error{
		"Accept": accept, "Accept again": again, "Messages": messages, "Erase": erase,
		"Delete": s.Delete(ctx, key("x:long")),
		"Dump":   s.Dump(ctx, nil, func(sessions.Record) error { return nil }),
	}
}

// The same in the place of an archive: what the document shows is kept, and the
// other conversations are there.
func TestCase42NoFileInTheArchive(t *testing.T) {
	whole := newPlace(t)
	s := whole.open(t)
	fill(t, s)
	want := dump(t, s, key("x:1"))
	must(t, s.Close())
	for name, put := range map[string]func(path string) error{
		"a folder":         func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":           func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to itself": func(path string) error { return os.Symlink(filepath.Base(path), path) },
	} {
		for _, index := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", index ", index), func(t *testing.T) {
				p := whole.crash(t)
				path := p.path("archive/x_long.jsonl")
				must(t, os.Remove(path))
				must(t, put(path))
				if !index {
					must(t, os.Remove(p.path("index.json")))
				}
				s := p.open(t)
				same(t, "Dump", dump(t, s, key("x:1")), want)
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

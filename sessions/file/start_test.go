package file_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/sessions"
)

// A start does not wait for the index, however long that is: what needs it
// does, until its context ends.
func TestStartBeforeTheIndex(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "one")
	must(t, s.Close())
	index := read(t, p.path("index.json"))
	must(t, os.Remove(p.path("index.json")))
	must(t, syscall.Mkfifo(p.path("index.json"), 0o600)) // nobody has written it yet
	s = p.begin(t)
	err := s.Hold(t.Context(), "channel:x", func(context.Context) error { return nil })
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	asked := make(chan error, 3)
	go func() {
		_, err := s.Find(ctx, sessions.Query{Limit: 9})
		asked <- err
	}()
	go func() {
		_, err := s.Accept(ctx, sessions.Entry{Inbound: in("x:1", "2", "two")})
		asked <- err
	}()
	go func() { asked <- s.Check(ctx) }()
	stop()
	for range 3 {
		if err := <-asked; !errors.Is(err, context.Canceled) {
			t.Errorf("what came before the index = %v", err)
		}
	}
	must(t, os.WriteFile(p.path("index.json"), index, 0o600))
	say(t, s, "x:1", "2", "two")
	if ms, err := s.Messages(t.Context(), key("x:1"), 0, 9); err != nil || len(ms) != 2 {
		t.Errorf("Messages = %+v, %v", ms, err)
	}
	p.quiet(t)
}

// A store that cannot be read is not written to, and says so to everybody.
func TestUnreadable(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "one")
	must(t, s.Close())
	edit(t, p, "conversations/x_1.json", `"format": 2`, `"format": 7`)
	before := contents(t, p.dir)
	s = p.begin(t)
	_, listed := s.Find(t.Context(), sessions.Query{Limit: 9})
	_, accepted := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:2", "2", "two")})
	ran := s.Run(t.Context(), func(context.Context, sessions.Claim) error { return nil })
	for what, err := range map[string]error{"Find": listed, "Accept": accepted, "Run": ran} {
		newer := &sessions.NewerError{}
		if want := p.path("conversations/x_1.json"); !errors.As(err, &newer) || newer.Path != want || newer.Has != 7 {
			t.Errorf("%s = %v, want that %s is newer", what, err, want)
		}
	}
	must(t, s.Close())
	if diff := cmp.Diff(before, contents(t, p.dir)); diff != "" {
		t.Errorf("a store that cannot be read was written to (-before +after):\n%s", diff)
	}
}

// contents are the files below dir but the lock, by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() != "lock" {
			rel, _ := filepath.Rel(dir, path)
			all[rel] = string(read(t, path))
		}
		return err
	}))
	return all
}

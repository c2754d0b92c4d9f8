package file_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/sessions/file"
)

// documents counts the documents of p's conversations.
func documents(t *testing.T, p *place) int {
	t.Helper()
	list, err := filepath.Glob(p.path("conversations/*.json"))
	must(t, err)
	return len(list)
}

// keepTimes gives the documents in to the times of those in from: a document with
// another time counts as edited.
func keepTimes(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	must(t, err)
	for _, e := range entries {
		info, err := e.Info()
		must(t, err)
		must(t, os.Chtimes(filepath.Join(to, e.Name()), time.Time{}, info.ModTime()))
	}
}

// A daemon that is killed before it has written all documents continues at the next
// start where it stopped.
func TestShortLives(t *testing.T) {
	const conversations, inOneLife = 120, 25
	p := newPlace(t)
	s := openWith(t, p.dir, file.Options{FlushInterval: time.Hour})
	for i := range conversations {
		say(t, s, number("x:", i), number("m", i), "hello")
	}
	lives := 0
	for documents(t, p) < conversations {
		lives++
		if lives > conversations/inOneLife+1 {
			t.Fatalf("after %d lives there are %d documents, want %d", lives-1, documents(t, p), conversations)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var written atomic.Int32
		file.OnSync(t, func(path string) error {
			if strings.HasSuffix(path, ".json.draft") && strings.HasPrefix(path, p.path("conversations")) {
				if written.Add(1) == inOneLife {
					cancel()
				}
			}
			return nil
		})
		err := file.FlushIn(ctx, s)
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		file.OnSync(t, func(string) error { return nil })
		left := p.crash(t)
		keepTimes(t, p.path("conversations"), left.path("conversations"))
		p = left
		s = openWith(t, p.dir, file.Options{FlushInterval: time.Hour})
	}
	t.Logf("%d lives", lives)
	for i := range conversations {
		if ms, err := s.Messages(t.Context(), key(number("x:", i)), 0, 9); err != nil || len(ms) != 1 {
			t.Fatalf("Messages of %d = %+v, %v", i, ms, err)
		}
	}
}

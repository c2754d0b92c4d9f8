package file_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/sessions/file"
)

// logBytes is how many bytes the log of p has.
func logBytes(t *testing.T, p *place) (n int) {
	t.Helper()
	segments, err := filepath.Glob(p.path("log/*.jsonl"))
	must(t, err)
	for _, name := range segments {
		n += len(read(t, name))
	}
	return n
}

// A daemon that lives too shortly to write all documents goes on where the one
// before it stopped, and drops the log in the end: what was written before
// takes no part of the time of the next.
func TestShortLives(t *testing.T) {
	const conversations, inOneLife = 120, 25
	p := newPlace(t)
	s := openWith(t, p.dir, file.Options{Settle: time.Hour})
	for i := range conversations {
		say(t, s, number("x:", i), number("m", i), "hello")
	}
	long := logBytes(t, p)
	lives := 0
	for logBytes(t, p) > long/2 {
		if lives++; lives > conversations/inOneLife+1 {
			t.Fatalf("after %d lives the log has %d bytes still, it had %d", lives-1, logBytes(t, p), long)
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
		err := file.SettleIn(ctx, s)
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		file.OnSync(t, func(string) error { return nil })
		p = p.crash(t)
		s = openWith(t, p.dir, file.Options{Settle: time.Hour})
	}
	t.Logf("%d lives", lives)
	for i := range conversations {
		if ms, err := s.Messages(t.Context(), key(number("x:", i)), 0, 9); err != nil || len(ms) != 1 {
			t.Fatalf("Messages of %d = %+v, %v", i, ms, err)
		}
	}
}

package story_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/file"
	"dragoman/sessions/sqlite"
	"dragoman/sessions/storetest"
)

// openers open the kinds of stores that last.
var openers = map[string]func(ctx context.Context, path string) (*engine.Store, error){
	"sqlite": func(ctx context.Context, path string) (*engine.Store, error) {
		return sqlite.Open(ctx, path, sqlite.Options{})
	},
	"file": func(ctx context.Context, path string) (*engine.Store, error) {
		return file.Open(ctx, path, file.Options{})
	},
}

// talks is how many conversations, and words how many messages each, are moved.
const (
	talks = 60
	words = 20
)

// large makes a store with something of everything and thousands of messages.
func large(t *testing.T, kind, path string) (digest string) {
	t.Helper()
	s, err := openers[kind](t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Fill(t, s)
	n, at := 0, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	_, err = s.Restore(t.Context(), func() (sessions.Record, error) {
		n++
		if n > talks {
			return sessions.Record{}, io.EOF
		}
		r := &sessions.MessagesRecord{Key: channels.MustKey(fmt.Sprintf("telegram:%d", n))}
		for i := range words {
			r.Messages = append(r.Messages, sessions.Message{
				Role: []sessions.Role{sessions.RoleUser, sessions.RoleAssistant}[i%2], At: at.Add(time.Duration(i) * time.Minute),
				Content: strings.Repeat(fmt.Sprintf("word%d of %d ", i, n), 20),
			})
		}
		return sessions.Record{Messages: r}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return digestOf(t, kind, path)
}

// digestOf reads all of a store.
func digestOf(t *testing.T, kind, path string) string {
	t.Helper()
	s, err := openers[kind](t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	sum, n := sha256.New(), 0
	enc := json.NewEncoder(sum)
	err = s.Dump(t.Context(), nil, func(r sessions.Record) error {
		if r.Messages != nil {
			n += len(r.Messages.Messages)
		}
		return enc.Encode(r)
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d messages, %x", n, sum.Sum(nil))
}

// A migration may be killed whenever: the old store is unchanged, the new one
// is whole or not there, and the next run ends well.
func TestMigrateKilled(t *testing.T) {
	for _, way := range [][2]string{{"sqlite", "file"}, {"file", "sqlite"}} {
		t.Run(way[0]+" to "+way[1], func(t *testing.T) { migrateKilled(t, way[0], way[1]) })
	}
}

func migrateKilled(t *testing.T, fromKind, toKind string) {
	kills := 2
	if s := os.Getenv("DRAGOMAN_KILLS"); s != "" { // make crash
		var err error
		if kills, err = strconv.Atoi(s); err != nil {
			t.Fatalf("DRAGOMAN_KILLS=%q, want a number of kills", s)
		}
	}
	h := newHouse(t, plan{})
	from, to := filepath.Join(h.state, "old", "store"), filepath.Join(h.state, "new", "store")
	want := large(t, fromKind, from)
	args := []string{"sessions", "migrate", "--from", fromKind + ":" + from, "--to", toKind + ":" + to}
	began := time.Now()
	if out := h.dragoman(args...); !strings.Contains(out, "They are equal.") {
		t.Fatalf("migrate says %s", out)
	}
	whole := time.Since(began)
	if got := digestOf(t, toKind, to); got != want {
		t.Fatalf("the copy has %s, want %s", got, want)
	}
	landed, cut := 0, 0
	for range kills {
		if err := os.RemoveAll(filepath.Dir(to)); err != nil {
			t.Fatal(err)
		}
		cmd := h.command(t.Context(), args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(rand.N(whole), func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
		if left, _ := filepath.Glob(to + ".migrating*"); len(left) > 0 {
			cut++
		}
		if got := digestOf(t, fromKind, from); got != want {
			t.Fatalf("after a kill the source has %s, want %s", got, want)
		}
		_, err := os.Stat(to)
		switch {
		case err == nil:
			landed++
			if got := digestOf(t, toKind, to); got != want {
				t.Fatalf("after a kill the target has %s, want %s", got, want)
			}
		case !errors.Is(err, fs.ErrNotExist):
			t.Fatal(err)
		default:
			if out := h.dragoman(args...); !strings.Contains(out, "They are equal.") {
				t.Fatalf("the run after a kill says %s", out)
			}
			if got := digestOf(t, toKind, to); got != want {
				t.Fatalf("the run after a kill has %s, want %s", got, want)
			}
		}
		if left, _ := filepath.Glob(to + ".migrating*"); len(left) > 0 && err != nil {
			t.Errorf("there is still %v", left)
		}
	}
	t.Logf("%d kills within %s: %d left a part of a copy, %d came after the end; %s each time", kills, whole.Round(time.Millisecond), cut, landed, want[:13])
}

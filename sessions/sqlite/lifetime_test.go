package sqlite_test

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/sqlite"
	"dragoman/sessions/sqlite/sqlitetest"
)

// A message that shares a commit with Expire keeps its conversation, though the dispatcher
// does not have it yet.
func TestExpireWithAMessageInTheSameBatch(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	k, old := channels.MustKey("x:1"), channels.MustKey("x:2")
	for _, k := range []channels.Key{k, old} { // an id counts once in a channel
		e := entry(k.String(), "said in "+k.String(), "/x")
		e.Answered, e.Append = true, []sessions.Message{{Role: sessions.RoleUser, Content: "before"}}
		if _, err := s.Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	inOneBatch(t, s, func() error {
		_, err := s.Accept(t.Context(), entry(k.String(), "waits", "hi"))
		return err
	}, func() error {
		gone, err := s.Expire(t.Context(), time.Now().Add(time.Hour), 10)
		if len(gone) != 1 || gone[0] != old {
			t.Errorf("Expire = %v, want %s alone", gone, old)
		}
		return err
	})
	if ms, err := s.Messages(t.Context(), k, 0, 9); err != nil || len(ms) != 1 {
		t.Errorf("Messages = %+v, %v", ms, err)
	}
}

// inOneBatch has the writer run operations in this order and in one commit.
func inOneBatch(t *testing.T, s *sqlitetest.Store, operations ...func() error) {
	t.Helper()
	release := sqlite.HoldWriter(s)
	var all sync.WaitGroup
	for i, do := range operations {
		all.Go(func() {
			if err := do(); err != nil {
				t.Error(err)
			}
		})
		for end := time.Now().Add(20 * time.Second); sqlite.Queued(s) <= i && time.Now().Before(end); {
			runtime.Gosched()
		}
	}
	must(t, release())
	all.Wait()
	if most := sqlite.LargestBatch(s); most != len(operations) {
		t.Fatalf("the largest batch held %d operations, want %d", most, len(operations))
	}
}

// TestIndexOfABatch: operations that share a commit leave the search index as if they had
// come one after the other.
func TestIndexOfABatch(t *testing.T) {
	k, other := channels.MustKey("x:1"), channels.MustKey("x:2")
	for name, test := range map[string]struct {
		then func(*sqlitetest.Store) error
		say  bool // once more, after that
		want []string
	}{
		"Delete": {func(s *sqlitetest.Store) error { return s.Delete(t.Context(), k) }, true, []string{"x:1 third"}},
		"Erase": {func(s *sqlitetest.Store) error {
			_, err := s.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})
			return err
		}, false, nil},
		"Join": {func(s *sqlitetest.Store) error { return s.Join(t.Context(), k, other) }, true, []string{"x:1 third", "x:2 first", "x:2 second"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dragoman.db")
			s := openFile(t, path, sqlite.Options{})
			say := func(text string) func() error {
				return func() error {
					e := entry("x:1", text, "/x")
					e.Answered, e.Append = true, []sessions.Message{{Role: sessions.RoleUser, Content: "word " + text, Sender: "7"}}
					_, err := s.Accept(t.Context(), e)
					return err
				}
			}
			must(t, say("first")())
			batch := []func() error{say("second"), func() error { return test.then(s) }}
			if test.say {
				batch = append(batch, say("third"))
			}
			inOneBatch(t, s, batch...)
			found, err := s.SearchAll(t.Context(), sessions.Search{Query: "word", Limit: 9})
			must(t, err)
			var got []string
			for _, f := range found {
				got = append(got, f.Key.String()+strings.TrimPrefix(f.Message.Content, "word"))
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("found %q, want %q", got, test.want)
			}
			must(t, s.Close())
			if n, want := count(t, path, "words"), count(t, path, "messages"); n != want {
				t.Errorf("%d messages are indexed, want %d", n, want)
			}
		})
	}
}

// Each connection keeps memory for good, and what the rooms of a daemon read when they
// start is little. A read that lasts stops no other for longer than that.
func TestTheReadsOfAStartTakeTurns(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	for !sqlite.HoldTurns(s) { // the machine was slow
		s = openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	}
	k := channels.MustKey("x:1")
	read := func() {
		if _, err := s.Messages(t.Context(), k, 0, 9); err != nil {
			t.Error(err)
		}
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(read)
	}
	all.Wait()
	if n := sqlite.Readers(s); n != 1 {
		t.Errorf("%d connections read, want 1", n)
	}
	err := s.Backend().Snapshot(t.Context(), func(rows.Reader) error {
		go sqlite.EndTurns(s)
		read()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if n := sqlite.Readers(s); n != 2 {
		t.Errorf("%d connections read after a read within another, want 2", n)
	}
}

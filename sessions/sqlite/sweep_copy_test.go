package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// knows wants that s, which is what moment i of the deletion left, takes no
// message of the large conversation again, and after the first no change of one.
func knows(t *testing.T, s *sqlite.Store, i int) {
	t.Helper()
	for _, n := range []int{1, largeTalk} {
		id := fmt.Sprintf("large-%d", n)
		in := channels.Inbound{Key: large, ID: id, MessageID: id, Text: "again", Sender: channels.Person{IDs: []string{"7"}}}
		if got, err := s.Accept(t.Context(), sessions.Entry{Inbound: in}); err != nil || got.Outcome != sessions.Duplicate {
			t.Errorf("moment %d: message %d again = %+v, %v", i, n, got, err)
		}
		in.ID, in.MessageID, in.Edits = "change of "+id, "", id
		if got, err := s.Accept(t.Context(), sessions.Entry{Inbound: in}); err != nil || i > 0 && got.Outcome != sessions.Unknown {
			t.Errorf("moment %d: a change of message %d = %+v, %v", i, n, got, err)
		}
	}
}

// dump is all of s; the record of the store comes first.
func dump(t *testing.T, s *sqlite.Store) (all []sessions.Record) {
	t.Helper()
	err := s.Dump(t.Context(), nil, func(r sessions.Record) error {
		all = append(all, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// copyOf restores what the store at path dumps into another.
func copyOf(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s := openFile(t, path, sqlite.Options{})
	copied := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	if _, err := copied.Restore(t.Context(), from(dump(t, s))); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return copied
}

// interrupted is a context that has at done when a step of an operation is
// about to begin and due says so.
type interrupted struct {
	context.Context
	due func() bool
	at  func()
}

func (c *interrupted) Err() error {
	if c.at != nil && c.due() {
		at := c.at
		c.at = nil // it is no step of its own
		at()
	}
	return c.Context.Err()
}

// An erasure sweeps what is hidden. A Take that is at work then fails, whether
// it has parts to come or only has to show what is there, leaves nothing, and
// can be done again.
func TestTakeInPartsBesideAnErasure(t *testing.T) {
	for name, staged := range map[string]int{"between two parts": 1000, "at the end": largeTalk} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dragoman.db")
			s := openFile(t, path, sqlite.Options{})
			erasures := 0
			messages, done := counter(t, path, "messages")
			ctx := &interrupted{
				Context: t.Context(),
				due:     func() bool { return messages() == staged },
				at: func() {
					done() // an erasure wants the file for itself
					erasures++
					if _, err := s.Erase(t.Context(), sessions.Erasure{Scopes: []string{"somebody"}}); err != nil {
						t.Error(err)
					}
				},
			}
			_, err := s.Restore(ctx, from(largeRecords()))
			if !errors.Is(err, sessions.ErrConflict) || erasures != 1 {
				t.Errorf("Restore beside %d erasures = %v, want a conflict with one", erasures, err)
			}
			for _, table := range []string{"messages", "words", "sweeps", "conversations", "inbox"} {
				if n := rowsOf(t, path, table); n != 0 {
					t.Errorf("%d rows are left in %s", n, table)
				}
			}
			if _, err := s.Restore(t.Context(), from(largeRecords())); err != nil {
				t.Errorf("Restore again = %v", err)
			}
			if n, found, dumped, _ := shows(t, s); n != largeTalk || found != n || dumped != n {
				t.Errorf("%d messages, %d found, %d dumped, want %d", n, found, dumped, largeTalk)
			}
		})
	}
}

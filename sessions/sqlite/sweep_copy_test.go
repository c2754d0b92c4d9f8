package sqlite_test

import (
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
	if err := copied.Restore(t.Context(), from(dump(t, s))); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return copied
}

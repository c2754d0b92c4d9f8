package sqlite_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"
)

// tell adds a message to k.
func tell(t *testing.T, s *engine.Store, k, text string) {
	t.Helper()
	e := entry(k, rand.Text(), "/x")
	e.Answered, e.Append = true, []sessions.Message{{Role: sessions.RoleUser, Content: text}}
	if _, err := s.Accept(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// finds checks how many messages of all conversations a search finds.
func finds(t *testing.T, s *engine.Store, when string, want int) {
	t.Helper()
	found, err := s.SearchAll(t.Context(), sessions.Search{Query: "needle", Limit: 1000})
	if err != nil || len(found) != want {
		t.Errorf("%s, a search finds %d messages, %v, want %d", when, len(found), err, want)
	}
}

// TestWordsWaitForTheIndex: new messages are not in the index, a search finds them all the
// same, and they do not wait for ever.
func TestWordsWaitForTheIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	s := openFile(t, path, sqlite.Options{})
	for range 10 {
		tell(t, s, "x:1", "a needle")
	}
	if waiting, indexed := count(t, path, "unindexed"), count(t, path, "words"); waiting != 10 || indexed != 0 {
		t.Errorf("%d wait and %d are indexed, want 10 and 0", waiting, indexed)
	}
	finds(t, s, "while they wait", 10)
	if waiting, indexed := count(t, path, "unindexed"), count(t, path, "words"); waiting != 0 || indexed != 10 {
		t.Errorf("after a search %d wait and %d are indexed, want 0 and 10", waiting, indexed)
	}
	for range 2*sqlite.UnindexedMost + 10 {
		tell(t, s, "x:2", "a needle")
	}
	if n := count(t, path, "unindexed"); n != 10 {
		t.Errorf("%d wait after many, want 10", n)
	}
	for range 4 {
		tell(t, s, "x:3", longText(300<<10))
	}
	if n := count(t, path, "unindexed"); n != 0 {
		t.Errorf("%d wait after four long ones, want 0", n)
	}
	tell(t, s, "x:4", "a needle")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, path, "unindexed"); n != 0 {
		t.Errorf("%d wait in a closed file, want 0", n)
	}
}

// longText has so many bytes of different words.
func longText(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "word%d ", i)
	}
	return b.String()
}

// TestWordsOfAKilledProcess: a copy of the files is what a kill leaves.
func TestWordsOfAKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	s := openFile(t, path, sqlite.Options{})
	tell(t, s, "x:1", "a needle")
	left := filepath.Join(t.TempDir(), "dragoman.db")
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + end)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(left+end, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	finds(t, openFile(t, left, sqlite.Options{}), "after a kill", 1)
}

// TestWordsThatWaitAreDeleted: a deleted conversation is found neither before nor after its
// words would have been indexed.
func TestWordsThatWaitAreDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	s := openFile(t, path, sqlite.Options{})
	tell(t, s, "x:1", "a needle")
	tell(t, s, "x:2", "a needle")
	if err := s.Delete(t.Context(), channels.MustKey("x:1")); err != nil {
		t.Fatal(err)
	}
	if n := count(t, path, "unindexed"); n != 1 {
		t.Errorf("%d wait, want 1", n)
	}
	finds(t, s, "after the other was deleted", 1)
}

// TestWordsOfAFailedBatch: what was moved in vain waits again.
func TestWordsOfAFailedBatch(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	tell(t, s, "x:1", "a needle")
	if err := sqlite.FailSettled(s); err == nil {
		t.Fatal("the transaction did not fail")
	}
	if err := s.Check(t.Context()); err != nil { // a commit without words
		t.Fatal(err)
	}
	finds(t, s, "after a transaction that failed", 1)
}

package sqlite_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
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

// traces returns the canaries that are in the files of a store. It searches for the middle
// of a word, because the search index shares their beginnings.
func traces(t *testing.T, dir string, canaries ...string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b = bytes.ToLower(b)
		for _, c := range canaries {
			if bytes.Contains(b, []byte(strings.ToLower(c[4:len(c)-2]))) {
				found = append(found, e.Name()+" holds "+c)
			}
		}
	}
	return found
}

// TestEraseLeavesNoByte plants canaries everywhere, among much else, some of it
// deleted and overwritten before, and greps all files after the erasure while
// the store is still open.
func TestEraseLeavesNoByte(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "dragoman.db")
	s := openFile(t, path, sqlite.Options{})
	ctx := t.Context()
	canaries := []string{
		"zq7rcanaryDedupe01", "zq7rcanaryText02", "zq7rcanaryName03", "zq7rcanarySaid04", "zq7rcanaryReply05",
		"zq7rcanarySummary06", "zq7rcanaryTitle07", "zq7rcanaryStep08", "zq7rcanaryEdited09", "zq7rcanaryDeleted10", "zq7rcanaryFact11", "zq7rcanaryChat12",
		"zq7rcanaryThought13", "zq7rcanarySealed14",
	}
	k := channels.MustKey("x:zq7rcanaryChat12")
	for i := range 300 {
		chat := channels.MustKey(fmt.Sprintf("x:%d", i%7))
		if i%10 == 0 {
			chat = k
		}
		e := sessions.Entry{Inbound: channels.Inbound{Key: chat, ID: fmt.Sprint(i), Text: strings.Repeat("other words ", i)}, Answered: true}
		content := strings.Repeat("and more of them ", i)
		if chat == k {
			e.Inbound.ID = fmt.Sprint("zq7rcanaryDedupe01", i)
			e.Inbound.Text += "zq7rcanaryText02"
			e.Inbound.Sender = channels.Person{IDs: []string{"7"}, Name: "zq7rcanaryName03"}
			content += fmt.Sprint("zq7rcanarySaid04", i) + " zq7rcanarySaid04"
			e.Replies = []sessions.Reply{{Text: content + "zq7rcanaryReply05"}}
		}
		e.Append = []sessions.Message{{Role: sessions.RoleUser, Content: content, Name: e.Inbound.Sender.Name, Sender: "7"}}
		if chat == k {
			e.Append = append(e.Append, sessions.Message{Role: sessions.RoleAssistant, Content: "so be it", Attached: attached("zq7rcanaryThought13")})
		}
		if i == 100 {
			e.Append[0].Content = strings.Repeat("zq7rcanaryDeleted10 ", 5000)
		}
		if _, err := s.Accept(ctx, e); err != nil {
			t.Fatal(err)
		}
		if i == 150 {
			if err := s.Delete(ctx, k); err != nil {
				t.Fatal(err)
			}
		}
	}
	plantMore(t, s, k)
	if found := traces(t, dir, canaries...); len(found) < len(canaries) {
		t.Fatalf("planted are only %v", found)
	}
	got, err := s.Erase(ctx, sessions.Erasure{Keys: []channels.Key{k}, Scopes: []string{"me"}, Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})
	if err != nil || got.Conversations != 1 {
		t.Fatalf("Erase = %+v, %v", got, err)
	}
	if found := traces(t, dir, canaries...); len(found) > 0 {
		t.Errorf("after Erase: %v", found)
	}
	// The store goes on.
	if _, err := s.Accept(ctx, entry("x:1", "zq7rcanaryDedupe0110", "again")); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found := traces(t, dir, canaries[1:]...); len(found) > 0 {
		t.Errorf("after Close: %v", found)
	}
	integrity(t, path)
}

// attached is data that a provider sent with a message.
func attached(word string) *sessions.Attached {
	return &sessions.Attached{By: sessions.Provenance{API: "chat"}, Data: json.RawMessage(`"` + word + `"`)}
}

func plantMore(t *testing.T, s *engine.Store, k channels.Key) {
	t.Helper()
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	h, err := s.History(ctx, k, sessions.HistoryLimit{})
	check(err)
	check(s.AddSummary(ctx, k, sessions.Summary{Text: "zq7rcanarySummary06", CoversSeq: h.Messages[0].Seq, Generation: h.Generation}))
	check(s.Rename(ctx, k, "zq7rcanaryTitle07"))
	_, err = s.Remember(ctx, "me", sessions.NewFact{Text: "zq7rcanaryFact11"})
	check(err)
	e := entry(k.String(), "edit me", "zq7rcanaryEdited09")
	e.Inbound.MessageID = "m"
	_, err = s.Accept(ctx, e)
	check(err)
	e = entry(k.String(), "edit", "changed")
	e.Inbound.Edits = "m"
	_, err = s.Accept(ctx, e)
	check(err)
	note := sessions.Message{Role: sessions.RoleUser, Content: "zq7rcanaryStep08", Attached: attached("zq7rcanarySealed14")}
	sqlite.PlantStep(t, s, k, sessions.Step{Kind: sessions.StepNote, Message: &note})
}

// TestEraseWithAReader: while another program reads an old state of the file, Erase reports
// that traces are left, and a second call removes them.
func TestEraseWithAReader(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "dragoman.db")
	s := openFile(t, path, sqlite.Options{})
	if err := sqlite.BeImpatient(s); err != nil {
		t.Fatal(err)
	}
	e := entry("x:1", "1", "zq7rcanaryText02")
	if _, err := s.Accept(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	release := holdState(t, path)
	got, err := s.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{e.Inbound.Key}})
	if err == nil || !strings.Contains(err.Error(), "erase again") {
		t.Errorf("Erase = %v", err)
	}
	if got.Queued != 1 {
		t.Errorf("Erase counts %+v, want what is gone", got)
	}
	release()
	if _, err := s.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{e.Inbound.Key}}); err != nil {
		t.Errorf("Erase again = %v", err)
	}
	if found := traces(t, dir, "zq7rcanaryText02"); len(found) > 0 {
		t.Error(found)
	}
}

// TestDeleteOverwritesTheQueues: deleted rows of the queues are not left in free pages.
func TestDeleteOverwritesTheQueues(t *testing.T) {
	dir := t.TempDir()
	s := openFile(t, filepath.Join(dir, "dragoman.db"), sqlite.Options{})
	canaries := []string{"zq7rcanaryAsked01", "zq7rcanaryNamed02", "zq7rcanaryLong03"}
	for i, text := range []string{canaries[0], strings.Repeat(canaries[2]+" ", 2000)} {
		e := entry("x:1", fmt.Sprint(i), text)
		e.Inbound.Sender = channels.Person{IDs: []string{"7"}, Name: canaries[1]}
		e.Answered, e.Append = true, []sessions.Message{{Role: sessions.RoleUser, Content: "other words"}}
		if _, err := s.Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if found := traces(t, dir, canaries...); len(found) < len(canaries) {
		t.Fatalf("planted are only %v", found)
	}
	if err := s.Delete(t.Context(), channels.MustKey("x:1")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found := traces(t, dir, canaries...); len(found) > 0 {
		t.Errorf("after Delete: %v", found)
	}
}

// TestEraseRemovesOldWords: an earlier version could leave words of a deleted message in the
// search index.
func TestEraseRemovesOldWords(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "dragoman.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	must(t, err)
	e := entry("x:1", "1", "hi")
	e.Answered, e.Append = true, []sessions.Message{{Role: sessions.RoleUser, Content: "stays"}}
	_, err = s.Accept(t.Context(), e)
	must(t, err)
	must(t, s.Close())
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.Exec(`INSERT INTO words (rowid, said) VALUES (77, 'zq7rcanaryword01')`)
	must(t, errors.Join(err, db.Close()))
	if found := traces(t, dir, "zq7rcanaryword01"); len(found) == 0 {
		t.Fatal("the word was not planted")
	}
	s = openFile(t, path, sqlite.Options{})
	_, err = s.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{channels.MustKey("x:2")}})
	must(t, err)
	if found := traces(t, dir, "zq7rcanaryword01"); len(found) > 0 {
		t.Error(found)
	}
	if found, err := s.SearchAll(t.Context(), sessions.Search{Query: "stays", Limit: 9}); err != nil || len(found) != 1 {
		t.Errorf("SearchAll = %+v, %v", found, err)
	}
}

// holdState has a reader that sees the present state of the file until release.
func holdState(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRow(`SELECT count(*) FROM inbox`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

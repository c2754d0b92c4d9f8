package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// A file from when what search_history found was still indexed: it is not found
// there either, nor does it take the place of what was said.
func TestSearchInAnOlderIndex(t *testing.T) {
	path, k := filepath.Join(t.TempDir(), "a.db"), channels.MustKey("x:1")
	s := openFile(t, path, sqlite.Options{})
	_, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k, ID: "1", Text: "hi"}, Answered: true, Append: []sessions.Message{
		{Role: sessions.RoleUser, Content: "the price is 129"},
		{Role: sessions.RoleTool, Name: "search_history", ToolCallID: "a", Content: "[message 1] the price is 129"},
		{Role: sessions.RoleTool, Name: "read_file", ToolCallID: "b", Content: "a list"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	var indexed int
	if err := db.QueryRow(`SELECT count(*) FROM words WHERE said MATCH 'price'`).Scan(&indexed); err != nil || indexed != 1 {
		t.Errorf("%d messages with the price are indexed, %v, want 1", indexed, err)
	}
	res, err := db.Exec(`INSERT INTO words (rowid, said) SELECT id, 'message 1 the price is 129' FROM messages WHERE id & 0xffffffff = 2`)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%d messages are indexed as they were, %v, want 1", n, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s = openFile(t, path, sqlite.Options{})
	hits, err := s.Lookup(t.Context(), k, sessions.Lookup{Query: "price list", Limit: 2})
	if err != nil || len(hits.Messages) != 2 || hits.Messages[0].Seq != 3 || hits.Messages[1].Seq != 1 || hits.Some != 2 {
		t.Errorf("Lookup = %+v, %v, want messages 3 and 1", hits, err)
	}
	if found, err := s.SearchAll(t.Context(), sessions.Search{Query: "price", Limit: 1}); err != nil || len(found) != 1 || found[0].Message.Seq != 1 {
		t.Errorf("SearchAll = %+v, %v, want message 1", found, err)
	}
}

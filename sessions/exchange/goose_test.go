package exchange_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/exchange"

	_ "modernc.org/sqlite"
)

// database runs the statements in a file of testdata. The database stays open, with its
// write-ahead log, as while the program runs.
func database(t *testing.T, script string) string {
	t.Helper()
	statements, err := os.ReadFile(filepath.Join("testdata", script))
	if err != nil {
		t.Fatal(err)
	}
	return made(t, string(statements))
}

func made(t *testing.T, statements string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sessions 100%#?.db")
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "#", "%23", "?", "%3f", " ", "%20").Replace(path)+"?_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		t.Fatalf("the log is %v, %v; want one with something in it", info, err)
	}
	return path
}

func openDatabase(t *testing.T, path string) ([]conversation, []string) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := exchange.Open(t.Context(), path, exchange.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := readAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the database was changed, %v", err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("the copy stays: %v, %v", left, err)
	}
	return all, r.Notes()
}

func TestGoose(t *testing.T) {
	all, notes := openDatabase(t, database(t, "goose.sql"))
	if len(all) != 2 {
		t.Fatalf("%d sessions, want 2", len(all))
	}
	same(t, "the notes", notes, []string{"session 20260211_3 has no messages and was left out"})
	c := all[0]
	if c.Key != channels.MustKey("import:20260211_1") || c.Title != "Weather" || string(c.Settings.Metadata["goose_id"]) != `"20260211_1"` {
		t.Errorf("got %s %q %s", c.Key, c.Title, c.Settings.Metadata)
	}
	// The clock jumps back between a call and its result; the order does not.
	called, answered := at("2026-02-11T10:00:05Z"), at("2026-02-11T10:00:01Z")
	begun := at("2026-02-11T10:00:00Z")
	same(t, "the messages", c.messages, []sessions.Message{
		{Seq: 1, Role: "user", Content: "Weather in Rome?", At: begun, Extra: map[string]json.RawMessage{
			"goose_created_timestamp": raw("1770804000"), "goose_message_id": raw(`"m1"`), "goose_tokens": raw("7"),
		}},
		{Seq: 2, Role: "assistant", Content: "Let me see.", At: called, ToolCalls: []sessions.ToolCall{
			{ID: "t1", Name: "weather", Arguments: `{"city":"Rome"}`}, {ID: "t2", Name: "clock", Arguments: "{}"},
		}, Extra: map[string]json.RawMessage{"goose_created_timestamp": raw("1770804005")}},
		{Seq: 3, Role: "tool", Content: "21 °C\n[image]", ToolCallID: "t1", At: answered, Extra: map[string]json.RawMessage{"goose_created_timestamp": raw("1770804001")}},
		{Seq: 4, Role: "tool", Content: "error: no clock", ToolCallID: "t2", At: answered},
		{Seq: 5, Role: "user", Content: "And?", At: answered},
	})

	c = all[1] // compacted: 1 and 2 are hidden from the model, 3 and 4 only it sees
	same(t, "the summary", c.Summaries, []sessions.Summary{{Text: "They greeted.", CoversSeq: 4, At: c.Updated}})
	if len(c.messages) != 5 || !c.messages[2].Summary || !c.messages[3].Synthetic || c.messages[4].Summary || c.messages[1].Summary {
		t.Errorf("the messages are %+v", c.messages)
	}
}

func TestGoosePattern(t *testing.T) {
	all, notes := openDatabase(t, database(t, "goose-pattern.sql"))
	if len(all) != 1 || len(notes) != 1 || !strings.Contains(notes[0], "message 4, the result of a function") {
		t.Fatalf("%d sessions, notes %q", len(all), notes)
	}
	c := all[0]
	same(t, "the settings", c.Settings, sessions.Settings{
		System: "You are brief.", Tags: []string{"a", "b"}, Metadata: map[string]json.RawMessage{
			"goose_id": raw(`"20260211_001"`), "user_id": raw(`"u1"`), "cost_limit": raw("1.5"),
			"goose": raw(`{"message_count":5,"total_tokens":42}`),
		},
	})
	if c.Key.String() != "import:20260211_001" || len(c.messages) != 4 {
		t.Fatalf("got %s with %+v", c.Key, c.messages)
	}
	same(t, "the call", c.messages[1].ToolCalls, []sessions.ToolCall{{ID: "c1", Name: "sum", Arguments: `{"a":1}`}})
	if n := c.messages[2]; n.Role != "user" || !n.Synthetic || n.Content != "[result of a function] 3" {
		t.Errorf("the function's row became %+v", n)
	}
}

func TestGooseRefusals(t *testing.T) {
	good, err := os.ReadFile(database(t, "goose.sql"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"only the beginning": []byte("SQLite format 3\x00"),
		"cut off":            good[:len(good)/2],
		"damaged":            append([]byte("SQLite format 3\x00"), make([]byte, 8192)...),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := exchange.Open(t.Context(), path, exchange.Options{}); !errors.Is(err, exchange.ErrDatabase) {
				t.Errorf("the error is %v, want ErrDatabase", err)
			}
		})
	}
}

// The time of an import grows with the messages, not with their square, whatever type
// the ids have, and with the program's index or without.
func TestGooseMessagesAreFoundByAnIndex(t *testing.T) {
	for name, column := range map[string]string{
		"texts":     "session_id TEXT); CREATE INDEX theirs ON messages (session_id",
		"numbers":   "session_id INTEGER); CREATE INDEX theirs ON messages (session_id",
		"unindexed": "session_id TEXT",
		"whatever":  "session_id",
	} {
		t.Run(name, func(t *testing.T) {
			path := made(t, "CREATE TABLE sessions (id); CREATE TABLE messages (role TEXT, "+column+`);
				INSERT INTO sessions VALUES (7), (8);
				INSERT INTO messages (role, session_id) VALUES ('user', 7), ('user', '8'), ('assistant', '7'), ('system', NULL), ('tool', 7)`)
			if plan, err := exchange.GoosePlan(t.Context(), path); err != nil || !strings.HasPrefix(plan, "SEARCH messages USING INDEX") {
				t.Errorf("the messages are found by %q, %v; want a search in an index", plan, err)
			}
			var roles []sessions.Role
			all, _ := openDatabase(t, path)
			for _, m := range all[0].messages {
				roles = append(roles, m.Role)
			}
			same(t, "the messages of 7", roles, []sessions.Role{"user", "assistant", "tool"})
		})
	}
}

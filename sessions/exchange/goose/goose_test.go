package goose_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/sessions/exchange/goose"

	_ "modernc.org/sqlite"
)

// An import of many sessions takes time by their messages, not by the square of
// them: whatever the ids are stored as, and with the program's index or without.
func TestMessagesAreFoundByAnIndex(t *testing.T) {
	for name, column := range map[string]string{
		"texts":     "session_id TEXT); CREATE INDEX theirs ON messages (session_id",
		"numbers":   "session_id INTEGER); CREATE INDEX theirs ON messages (session_id",
		"unindexed": "session_id TEXT",
		"whatever":  "session_id",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sessions.db")
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = db.Exec("PRAGMA journal_mode = wal; CREATE TABLE sessions (id); CREATE TABLE messages (role TEXT, " + column + `);
				INSERT INTO sessions VALUES (7), (8);
				INSERT INTO messages (role, session_id) VALUES ('user', 7), ('user', '8'), ('assistant', '7'), ('system', NULL), ('tool', 7)`)
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			d, err := goose.Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = d.Close() })
			if plan, err := d.Plan(t.Context()); err != nil || !strings.HasPrefix(plan, "SEARCH messages USING INDEX") {
				t.Errorf("the messages are found by %q, %v; want a search in an index", plan, err)
			}
			var roles []string
			err = d.Messages(t.Context(), "7", func(m goose.Message) error {
				var role string
				err := json.Unmarshal(m["role"], &role)
				roles = append(roles, role)
				return err
			})
			if diff := cmp.Diff([]string{"user", "assistant", "tool"}, roles); err != nil || diff != "" {
				t.Errorf("the messages of 7 differ, %v:\n%s", err, diff)
			}
		})
	}
}

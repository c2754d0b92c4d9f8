package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// inFile runs statements on a store that is closed.
func inFile(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range statements {
		if _, err := db.Exec(query); err != nil {
			t.Fatalf("%v in %s", err, query)
		}
	}
}

// TestWritersOfAnOlderFile: a file that was made before there were indexes of
// who wrote gets them when it is opened, and so does one of which a crash left
// one of the two. A row that is damaged hides nobody else.
func TestWritersOfAnOlderFile(t *testing.T) {
	for name, statements := range map[string][]string{
		"no index":    {`DROP INDEX inbox_writer`, `DROP INDEX messages_writer`},
		"one of both": {`DROP INDEX messages_writer`},
		"a damaged row": {
			`DROP INDEX inbox_writer`, `DROP INDEX messages_writer`,
			`INSERT INTO messages (id, role, bytes, rest, content) VALUES ((1 << 32) + 9, 'user', 1, '{"sender":"8"', 'x')`,
			`INSERT INTO inbox (id, dedupe, message_id, origin, state, accepted, rest, text) VALUES ((1 << 32) + 9, 'x:9', '', 'chat', 'done', 1, x'00ff', 'x')`,
		},
		"a row that is damaged later": {
			`UPDATE messages SET rest = 'null' WHERE content = 'other'`,
			`UPDATE inbox SET rest = '[]' WHERE text = 'other'`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dragoman.db")
			s := openFile(t, path, sqlite.Options{})
			for i, text := range []string{"hello", "other"} {
				e := entry("x:1", string(rune('a'+i)), text)
				e.Inbound.Sender = channels.Person{IDs: []string{"7", "+1"}, Name: "ann"}
				e.Answered, e.Append = true, []sessions.Message{{Role: sessions.RoleUser, Content: text, Sender: "8", Name: "bob"}}
				if _, err := s.Accept(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			inFile(t, path, statements...)
			s = openFile(t, path, sqlite.Options{})
			got, err := s.Writers(t.Context(), "x")
			want := []sessions.Writer{{Key: channels.MustKey("x:1"), IDs: []string{"7", "+1"}, Name: "ann"}, {Key: channels.MustKey("x:1"), IDs: []string{"8"}, Name: "bob"}}
			if diff := cmp.Diff(want, got, cmpopts.EquateComparable(channels.Key{})); err != nil || diff != "" {
				t.Errorf("Writers: %v (-want +got):\n%s", err, diff)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			integrity(t, path)
		})
	}
}

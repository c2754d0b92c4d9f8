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

// indexesOf lists the indexes of a closed store with such names.
func indexesOf(t *testing.T, path, like string) (names []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE ?`, like)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// TestWritersOfAnOlderFile: files have indexes of who wrote from a program
// before this one, or one of the two. They go when it is opened, because each
// message pays for them. A row that is damaged hides nobody else.
func TestWritersOfAnOlderFile(t *testing.T) {
	index := func(table, rest string) string {
		return `CREATE INDEX ` + table + `_writer ON ` + table + ` (id >> 32, CASE WHEN json_valid(CAST(rest AS TEXT)) THEN json_extract(CAST(rest AS TEXT), '$.sender') END)` + rest
	}
	for name, statements := range map[string][]string{
		"no index":    nil,
		"both":        {index("inbox", ""), index("messages", " WHERE role = 'user'")},
		"one of both": {index("inbox", "")},
		"a damaged row": {
			`INSERT INTO messages (id, role, bytes, rest, content) VALUES ((1 << 32) + 9, 'user', 1, '{"sender":"8"', 'x')`,
			`INSERT INTO inbox (id, dedupe, message_id, origin, state, accepted, rest, text) VALUES ((1 << 32) + 9, 'x:9', '', 'chat', 'done', 1, x'00ff', 'x')`,
		},
		"a row that is something else": {
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
			if left := indexesOf(t, path, "%writer"); len(left) > 0 {
				t.Errorf("indexes of who wrote are left: %q", left)
			}
			integrity(t, path)
		})
	}
}

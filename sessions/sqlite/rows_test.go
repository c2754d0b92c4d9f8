package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rowstest"
	"dragoman/sessions/sqlite"
)

func TestRows(t *testing.T) {
	rowstest.Run(t, func(t *testing.T) rows.Backend {
		return openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{}).Backend()
	})
}

func openRows(ctx context.Context, dir string) (rows.Backend, error) {
	s, err := sqlite.Open(ctx, filepath.Join(dir, "dragoman.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	return s.Backend(), nil
}

func TestRowsDurable(t *testing.T) { rowstest.RunDurable(t, openRows) }

// TestRowsOnAFullDisk covers the file store too: its commits are those of a
// sqlite.Backend, which marks documents.
func TestRowsOnAFullDisk(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, path string) rows.Backend{
		"sqlite": func(t *testing.T, path string) rows.Backend {
			return openFile(t, path, sqlite.Options{}).Backend()
		},
		"file": func(t *testing.T, path string) rows.Backend {
			b, err := sqlite.OpenBackend(t.Context(), path, sqlite.Options{})
			must(t, err)
			t.Cleanup(func() { must(t, b.Close()) })
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			rowstest.RunFull(t, func(t *testing.T) (rows.Backend, func(bool)) {
				b := open(t, filepath.Join(t.TempDir(), "rows.db"))
				return b, func(full bool) {
					pages := 1 << 20
					if full {
						pages = 1 // as many as there are
					}
					must(t, sqlite.LimitPages(b, pages))
				}
			})
		})
	}
}

// TestAnOlderFile: a file with the columns of testdata/columns.txt, those that the
// first files of this schema had, is opened without loss, and gets the others.
func TestAnOlderFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	s := openFile(t, path, sqlite.Options{})
	e := entry("x:1", "1", "hello")
	e.Answered, e.Append = true, []sessions.Message{{Role: sessions.RoleUser, Content: "hello", Sender: "8"}, {Role: sessions.RoleUser, Content: "you"}}
	if _, err := s.Accept(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile("testdata/columns.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := columns(t, path)
	for _, c := range all {
		if !slices.Contains(strings.Fields(string(first)), c) {
			table, column, _ := strings.Cut(c, ".")
			inFile(t, path, `ALTER TABLE `+table+` DROP COLUMN `+column)
		}
	}
	for want := range 2 {
		s = openFile(t, path, sqlite.Options{})
		h, err := s.History(t.Context(), channels.MustKey("x:1"), sessions.HistoryLimit{})
		if err != nil || h.Erasures != want || len(h.Messages) != 2 {
			t.Errorf("History = %+v, %v, want %d erasures", h, err, want)
		}
		if _, err := s.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "8"}}}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := columns(t, path); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(all))) {
		t.Errorf("an older file has the columns %v, a new one %v", got, all)
	}
}

// columns are those of all tables in a file, as TABLE.COLUMN.
func columns(t *testing.T, path string) (all []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var text string
	err = db.QueryRow(`SELECT group_concat(m.name || '.' || c.name, ' ' ORDER BY m.name, c.cid) FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'words%'`).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(text)
}

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

// TestHiddenByAFormerVersion: a former version hid large conversations under an id without a
// key and deleted them in parts. Opening the file deletes the rest, and marks the messages.
func TestHiddenByAFormerVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	s := openFile(t, path, sqlite.Options{})
	for _, k := range []string{"x:1", "x:2"} {
		e := entry(k, k, "hello")
		e.Answered, e.Append = true, []sessions.Message{{Role: sessions.RoleUser, Content: "hello"}}
		e.Replies = []sessions.Reply{{Text: "hello"}}
		_, err := s.Accept(t.Context(), e)
		must(t, err)
	}
	must(t, s.Close())
	inFile(
		t, path, `CREATE TABLE sweeps (key_id INTEGER PRIMARY KEY, key TEXT NOT NULL DEFAULT '')`,
		`UPDATE outbox SET state = 'sent'`,
		`INSERT INTO sweeps SELECT id, key FROM keys WHERE key = 'x:1'`,
		`INSERT INTO sweeps VALUES (77, '')`, // of an import
		`INSERT INTO messages (id, role, bytes, rest, content) VALUES ((77 << 32) + 1, 'user', 0, '{}', '')`,
		`DELETE FROM conversations WHERE key_id IN (SELECT key_id FROM sweeps)`,
		`DELETE FROM generations WHERE key_id IN (SELECT key_id FROM sweeps)`,
		`UPDATE meta SET last_key = 99`, `UPDATE keys SET id = 99 WHERE key = 'x:1'`,
	)
	s = openFile(t, path, sqlite.Options{})
	if a, err := s.Accept(t.Context(), entry("x:1", "x:1", "hello")); err != nil || a.Outcome != sessions.Duplicate {
		t.Errorf("a message that was hidden is %+v, %v", a, err)
	}
	must(t, s.Close())
	for table, want := range map[string]int{"inbox": 1, "outbox": 1, "messages": 1, "words": 1, "conversations": 1, "sqlite_schema WHERE name = 'sweeps'": 0} {
		if n := count(t, path, table); n != want {
			t.Errorf("%d rows are in %s, want %d", n, table, want)
		}
	}
}

// count counts the rows of a table in a file.
func count(t *testing.T, path, table string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	must(t, db.QueryRow(`SELECT count(*) FROM `+table).Scan(&n))
	return n
}

// TestWritersOfDeepMessages: SQLite cannot parse JSON as deep as the stores keep.
func TestWritersOfDeepMessages(t *testing.T) {
	s := open(t)
	e := entry("x:1", "1", "hello")
	e.Answered, e.Append = true, []sessions.Message{{
		Role: sessions.RoleUser, Content: "hello", Sender: "8", Name: "deep",
		Extra: map[string]json.RawMessage{"deep": json.RawMessage(strings.Repeat("[", 1000) + strings.Repeat("]", 1000))},
	}}
	_, err := s.Accept(t.Context(), e)
	must(t, err)
	list, err := s.Writers(t.Context(), "x")
	if err != nil || !slices.ContainsFunc(list, func(w sessions.Writer) bool { return w.Name == "deep" && slices.Equal(w.IDs, []string{"8"}) }) {
		t.Errorf("Writers = %+v, %v", list, err)
	}
}

package sqlite_test

import (
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/rows"
	"dragoman/sessions/rowstest"
	"dragoman/sessions/sqlite"
)

func TestRows(t *testing.T) {
	rowstest.Run(t, func(t *testing.T) rows.Backend { return open(t).Backend() })
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

// TestOlderFiles opens files that older programs wrote, those of the commits that
// testdata names, with some of everything in them (storetest.Fill). They hold what
// those programs dumped, get the columns of a new file, and can be changed.
func TestOlderFiles(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "dragoman.db")
	if err := openFile(t, fresh, sqlite.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	for _, commit := range []string{"b5999ea", "c8e34e1"} {
		t.Run(commit, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dragoman.db")
			if err := os.WriteFile(path, unzipped(t, commit+".db.gz"), 0o600); err != nil {
				t.Fatal(err)
			}
			s := openFile(t, path, sqlite.Options{})
			if got, want := contents(t, s), string(unzipped(t, commit+".jsonl.gz")); got != want {
				t.Errorf("the store differs:\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
			}
			for want := range 2 {
				h, err := s.History(t.Context(), channels.MustKey("x:1"), sessions.HistoryLimit{})
				if err != nil || h.Erasures != want || len(h.Messages) == 0 {
					t.Errorf("History = %d messages, %d erasures, %v, want %d erasures", len(h.Messages), h.Erasures, err, want)
				}
				if _, err := s.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "s"}}}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			got, want := slices.Sorted(slices.Values(columns(t, path))), slices.Sorted(slices.Values(columns(t, fresh)))
			if !slices.Equal(got, want) {
				t.Errorf("the older file has the columns %v, a new one %v", got, want)
			}
		})
	}
}

// contents are the records of a store in JSON.
func contents(t *testing.T, s *engine.Store) string {
	t.Helper()
	var b strings.Builder
	lines := json.NewEncoder(&b)
	if err := s.Dump(t.Context(), nil, func(r sessions.Record) error { return lines.Encode(r) }); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func unzipped(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
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

package sqlite_test

import (
	"context"
	"database/sql"
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

func TestRowsOnAFullDisk(t *testing.T) {
	rowstest.RunFull(t, func(t *testing.T) (rows.Backend, func(bool)) {
		s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
		return s.Backend(), func(full bool) {
			pages := 1 << 20
			if full {
				pages = 1 // as many as there are
			}
			if err := sqlite.LimitPages(s, pages); err != nil {
				t.Fatal(err)
			}
		}
	})
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

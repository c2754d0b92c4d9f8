package sqlite_test

import (
	"bytes"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// version1 is the schema of the first release, to the letter.
//
//go:embed testdata/v1.sql
var version1 string

// oldFile makes a file as version 1 left it: x:1 has two generations, a
// summary and things to do; x:2 was deleted; x:3 was deleted and began anew.
func oldFile(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "dragoman.db")
	execute(t, path, `PRAGMA journal_mode = WAL`, version1,
		`UPDATE meta SET name = 'cafe', incarnation = 7`,
		`INSERT INTO keys (id, key, seq, msg_seq) VALUES (1, 'x:1', 3, 4), (2, 'x:2', 0, 2), (3, 'x:3', 0, 3)`,
		`INSERT INTO conversations VALUES (1, '20260103_002', 2, 3, 'title', 5, 6, 4, 10, 20, 3), (3, '20260103_001', 2, 0, '', 7, 8, 1, 0, 0, 0)`,
		`INSERT INTO generations VALUES ('20260101', 1, 1, 0), ('20260103', 2, 1, 2), ('20260102', 1, 2, 0), ('20260101', 12, 3, 0), ('20260103', 1, 3, 2)`,
		`INSERT INTO messages (id, role, bytes, rest, content) VALUES
			((1 << 32) + 1, 'user', 3, '{"name":"al","at":"2026-01-01T10:00:00.5Z"}', 'one'),
			((1 << 32) + 2, 'user', 3, '{"at":"2026-01-01T10:00:01Z"}', 'two'),
			((1 << 32) + 3, 'user', 5, '{"at":"2026-01-03T10:00:00+01:00","synthetic":true}', 'three'),
			((1 << 32) + 4, 'assistant', 4, '{"at":"2026-01-03T10:00:00Z","usage":{"input":10,"output":20,"cached":3}}', 'four'),
			((3 << 32) + 3, 'user', 3, '{}', 'new')`,
		`INSERT INTO words (rowid, said) VALUES ((1 << 32) + 1, 'one'), ((3 << 32) + 3, 'new')`,
		`INSERT INTO summaries VALUES ((1 << 32) + 3, '20260103_002', 'm', 9, 'sum')`,
		`INSERT INTO inbox (id, dedupe, message_id, origin, state, accepted, rest, text) VALUES ((1 << 32) + 1, 'x:a', 'a', 'chat', 'waiting', 1, '{"sender":{}}', 'waits')`,
		`INSERT INTO outbox (id, state, created, reply_to, edit, text) VALUES ((1 << 32) + 2, 'queued', 1, '', '', 'to send')`,
	)
	return path
}

// checkMigrated looks at what became of oldFile.
func checkMigrated(t *testing.T, path string) {
	t.Helper()
	s := openFile(t, path, sqlite.Options{})
	ctx := t.Context()
	k := channels.MustKey("x:1")
	h, err := s.History(ctx, k, sessions.HistoryLimit{})
	if err != nil || len(h.Messages) != 1 || h.Messages[0].Usage.Cached != 3 || h.Summary.Text != "sum" || h.Generation != "20260103_002" {
		t.Errorf("History = %+v, %v", h, err)
	}
	gens, err := s.Generations(ctx, k)
	if err != nil {
		t.Fatal(err)
	}
	want := []sessions.Generation{
		{ID: "20260101_001", FirstSeq: 1, LastSeq: 2, Began: time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)},
		{ID: "20260103_002", FirstSeq: 3, LastSeq: 4, Began: time.Date(2026, 1, 3, 9, 0, 0, 0, time.UTC)},
	}
	if diff := cmp.Diff(want, gens); diff != "" {
		t.Errorf("Generations (-want +got):\n%s", diff)
	}
	gens, err = s.Generations(ctx, channels.MustKey("x:3"))
	want = []sessions.Generation{{ID: "20260103_001", FirstSeq: 3, LastSeq: 3, Began: time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)}}
	if diff := cmp.Diff(want, gens); diff != "" || err != nil {
		t.Errorf("Generations (-want +got), %v:\n%s", err, diff)
	}
	if c, err := s.Conversation(ctx, k); err != nil || c.Title != "title" || c.Usage.Output != 20 || c.Messages != 4 {
		t.Errorf("Conversation = %+v, %v", c, err)
	}
	if found, err := s.SearchAll(ctx, "one", 5); err != nil || len(found) != 1 {
		t.Errorf("SearchAll = %+v, %v", found, err)
	}
	if st, err := s.Stats(ctx); err != nil || st.Waiting != 1 || st.Unsent != 1 {
		t.Errorf("Stats = %+v, %v", st, err)
	}
	if err := s.Configure(ctx, k, func(s *sessions.Settings) { s.Model = "m" }); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	integrity(t, path)
}

func TestMigration(t *testing.T) {
	path := oldFile(t)
	before := dumpText(t, path)
	checkMigrated(t, path)
	info, err := os.Stat(path + ".before-v2")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the copy: %v, %v", info, err)
	}
	if diff := cmp.Diff(before, dumpText(t, path+".before-v2")); diff != "" {
		t.Errorf("the copy differs (-want +got):\n%s", diff)
	}
	checkMigrated(t, path) // a second start changes nothing more
	if _, err := os.Stat(path + ".before-v2.2"); err == nil {
		t.Error("a second start made a copy")
	}
	// The copy is a store that works.
	checkMigrated(t, path+".before-v2")
}

// What a change of the schema leaves beside the store is told once, with what
// it takes: nobody else looks for it.
func TestMigrationTellsOfItsCopy(t *testing.T) {
	path := oldFile(t)
	for _, want := range []int{1, 0} {
		var log bytes.Buffer
		s := openFile(t, path, sqlite.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		must(t, s.Close())
		info, err := os.Stat(path + ".before-v2")
		must(t, err)
		line := fmt.Sprintf("copy=%s bytes=%d schema=1 new_schema=2 remove=", path+".before-v2", info.Size())
		if n := strings.Count(log.String(), line); n != want || strings.Count(log.String(), "\n") != want {
			t.Errorf("%q is logged %d times, want %d; the log:\n%s", line, n, want, log.String())
		}
	}
}

// dumpText is the schema and some of the content of a file.
func dumpText(t *testing.T, path string) (rows []string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := db.Query(`SELECT coalesce(sql, name) FROM sqlite_schema UNION ALL SELECT id || role || rest || content FROM messages
		UNION ALL SELECT key || seq FROM keys UNION ALL SELECT day || number FROM generations UNION ALL SELECT name || incarnation FROM meta
		UNION ALL SELECT user_version || ' ' || application_id FROM pragma_user_version, pragma_application_id`)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for r.Next() {
		var s string
		if err := r.Scan(&s); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, s)
	}
	slices.Sort(rows)
	return rows
}

// TestMigrationKeepsEarlierCopies: no file that is there is overwritten, and
// the draft of a copy that a crash left is no copy.
func TestMigrationKeepsEarlierCopies(t *testing.T) {
	path := oldFile(t)
	write(t, path+".before-v2", "mine")
	write(t, path+".before-v2.new", "half")
	checkMigrated(t, path)
	b, err := os.ReadFile(path + ".before-v2")
	if err != nil || string(b) != "mine" {
		t.Errorf("the earlier copy is %q, %v", b, err)
	}
	if _, err := os.Stat(path + ".before-v2.2"); err != nil {
		t.Error(err)
	}
}

// TestMigrationFailsWhole: when the change breaks off, at whichever statement,
// the file is that of version 1 still and the next start does it all.
func TestMigrationFailsWhole(t *testing.T) {
	for name, harm := range map[string]string{
		"at its begin":     `CREATE TABLE erased (x)`,
		"in its middle":    `CREATE TABLE days (x)`,
		"towards its end":  `CREATE TABLE generations_1 (x)`,
		"with a foreign i": `CREATE INDEX generations_key ON inbox (id)`,
	} {
		t.Run(name, func(t *testing.T) {
			path := oldFile(t)
			execute(t, path, harm)
			before := dumpText(t, path)
			if s, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), "change to schema 2") {
				if err == nil {
					_ = s.Close()
				}
				t.Fatalf("Open = %v", err)
			}
			if diff := cmp.Diff(before, dumpText(t, path)); diff != "" {
				t.Errorf("the file changed (-want +got):\n%s", diff)
			}
			words := strings.Fields(harm)
			execute(t, path, "DROP "+words[1]+" "+words[2])
			checkMigrated(t, path)
		})
	}
}

// TestMigratedSchema: a file of version 1 has the tables of a new one
// afterwards.
func TestMigratedSchema(t *testing.T) {
	columns := func(path string) []string {
		db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		rows, err := db.Query(`SELECT s.type || ' ' || s.name || ' ' || coalesce((SELECT group_concat(p.name || ' ' || p.type || ' ' || p.pk) FROM pragma_table_info(s.name) p), '')
			FROM sqlite_schema s ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var all []string
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		return all
	}
	old := oldFile(t)
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	for _, path := range []string{old, fresh} {
		if err := openFile(t, path, sqlite.Options{}).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(columns(fresh), columns(old)); diff != "" {
		t.Errorf("(-new +migrated):\n%s", diff)
	}
}

// holdState keeps a reader on what the file holds now until release.
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

package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"
)

// queries are the statements that the stores of a test have prepared.
type queries map[string]bool

// open makes a store whose statements are noted when its test ends.
func (q queries) open(t *testing.T) *engine.Store {
	s := open(t)
	t.Cleanup(func() { // before the store is closed
		for _, query := range sqlite.Statements(s) {
			q[query] = true
		}
	})
	return s
}

// wholeTables are the beginnings of statements that read or sort a table on purpose: the
// operator's tables, and statements that run once.
var wholeTables = []string{
	// Their callers stop early.
	"SELECT k.key, k.id, k.seq, k.msg_seq,",
	"SELECT day, begun FROM days ORDER BY day", // copies
	// People and jobs are few.
	"SELECT channel, person",
	"SELECT job, due",
	// There are only a few.
	"SELECT channel, msg_id, at, dropped, why, raw FROM aside",
	"SELECT hash FROM erased ORDER BY",                       // copies
	"SELECT name, coalesce((SELECT seq FROM sqlite_sequence", // a row or two
	"SELECT scope, id, at, text, origins, marks FROM facts ORDER BY scope, id",
	"SELECT kind, owner, name, due, at, data FROM notes ORDER BY", // copies, and the sweep
	"SELECT kind, owner, day, sum(n) FROM (SELECT kind, owner, day, n FROM counts UNION",
	"SELECT kind, owner, day, sum(n) FROM (SELECT kind, owner, day, n FROM counts)",
	"SELECT EXISTS (SELECT 1 FROM erased)", // reads one row
	"SELECT EXISTS (SELECT 1 FROM sqlite_schema",
	"SELECT count(*), coalesce(max(id), 0) FROM (SELECT id FROM messages", // the LIMIT is inside
}

// plan returns SQLite's plan for query, a step a line.
func plan(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	args := make([]any, 32) // more than any query has
	for i := range args {
		args[i] = i
	}
	rows, err := db.Query("EXPLAIN QUERY PLAN "+query, args[:parameters(query)]...)
	if err != nil {
		t.Errorf("%v in %s", err, query)
		return nil
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}

// parameters counts those of a query: "?" or the highest "?n".
func parameters(query string) int {
	n := 0
	for i, r := range query {
		if r != '?' {
			continue
		}
		if next := query[i+1:]; next != "" && next[0] >= '1' && next[0] <= '9' {
			n = max(n, int(next[0]-'0'))
			continue
		}
		n++
	}
	return n
}

// slow returns the step of a plan whose time grows with the store: a scan of a table or an
// index, unless the query has a limit and the index has its order, or an index that SQLite
// makes for this query alone.
func slow(query string, steps []string) string {
	sorted := false
	for _, step := range steps {
		sorted = sorted || strings.Contains(step, "TEMP B-TREE")
	}
	for _, step := range steps {
		rest, scan := strings.CutPrefix(step, "SCAN ")
		switch {
		case strings.Contains(step, "AUTOMATIC"):
			return step
		case !scan, strings.Contains(step, "VIRTUAL TABLE INDEX"), rest == "CONSTANT ROW", rest == "meta", rest == "additions", rest == "unindexed": // one row, or at most foldMost, unindexedMost
		case slices.Contains(steps, "CO-ROUTINE "+rest): // what other steps of the plan find
		case strings.Contains(step, "USING") && !sorted && strings.Contains(query, "LIMIT +?"):
		default:
			return step
		}
	}
	return ""
}

// changesMessages matches statements that change or remove messages.
var changesMessages = regexp.MustCompile(`(?is)\b(update(\s+or\s+\w+)?|delete\s+from|replace\s+into|insert\s+or\s+replace\s+into)\s+messages\b`)

// checkPlans checks the plan of every statement.
func checkPlans(t *testing.T, all queries) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	openFile(t, path, sqlite.Options{})
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if len(all) < 50 {
		t.Logf("only %d statements were prepared: not all of the suite has run", len(all))
	}
statements:
	for query := range all {
		if changesMessages.MatchString(query) && !sqlite.Rewrites(query) {
			t.Errorf("messages are remembered that this may change: %s", query)
		}
		// SQLite looks at a number after LIMIT when it plans, and plans anew
		// whenever one is bound, unless that is hidden from it by a plus.
		if strings.Contains(query, "LIMIT ?") {
			t.Errorf("this is prepared anew each time, write LIMIT +?: %s", query)
		}
		for _, begin := range wholeTables {
			if strings.HasPrefix(query, begin) {
				continue statements
			}
		}
		switch first, _, _ := strings.Cut(query, " "); first {
		case "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "PRAGMA", "VACUUM":
			continue
		}
		steps := plan(t, db, query)
		if step := slow(query, steps); step != "" {
			t.Errorf("%q costs what is stored, in\n%s\nwhole plan: %q", step, query, steps)
		}
	}
}

// TestSlow: the check finds slow plans.
func TestSlow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	openFile(t, path, sqlite.Options{})
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for query, bad := range map[string]bool{
		`SELECT id FROM inbox WHERE id = ?`:   false,
		`SELECT id FROM inbox WHERE text = ?`: true,
		`SELECT count(*) FROM messages`:       true,
		`SELECT h.n FROM (SELECT count(*) AS n FROM words WHERE said MATCH ? GROUP BY rowid) h`:          false,
		`SELECT h.n FROM (SELECT count(*) AS n FROM messages GROUP BY role) h`:                           true,
		`SELECT id FROM outbox WHERE state = 'dead'`:                                                     true, // the index is partial
		`SELECT id FROM outbox WHERE state <> 'sent' AND state = 'dead'`:                                 false,
		`SELECT key_id FROM conversations ORDER BY updated DESC LIMIT +?`:                                false,
		`SELECT key_id FROM conversations ORDER BY updated DESC`:                                         true,
		`SELECT key_id FROM conversations ORDER BY title LIMIT +?`:                                       true,
		`SELECT key_id FROM conversations WHERE updated > ?1 AND updated < ?2`:                           false,
		`UPDATE outbox SET text = '' WHERE reply_to = ?`:                                                 true,
		`DELETE FROM generations WHERE key_id = ?`:                                                       false,
		`SELECT 1 FROM keys k CROSS JOIN messages m ON m.id > k.id WHERE k.key > ? AND m.role = 'user'`:  true, // an index of its own
		`SELECT 1 FROM keys k CROSS JOIN messages m ON m.id > k.id WHERE k.key > ? AND +m.role = 'user'`: false,
	} {
		if step := slow(query, plan(t, db, query)); (step != "") != bad {
			t.Errorf("slow(%s) = %q, want one: %t", query, step, bad)
		}
	}
}

package sqlite

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// A turn adds to some ten sums, and a statement for each would be a tenth of what a turn
// costs. So a batch writes its additions as one row of the table additions. Its list is a
// JSON object: day, kind, a space and owner make a name, and n is the value. A sum is read
// from both tables in one statement. Once there are foldMost additions, a batch moves all of
// them to counts.

// additionsTable is like [noteTables]. An older program neither sees nor changes it: what it
// misses is added when a newer one opens the file again.
const additionsTable = `CREATE TABLE IF NOT EXISTS additions (
	id   INTEGER PRIMARY KEY,
	list TEXT NOT NULL
)`

// foldMost bounds how many additions wait. Moving them takes some 3 ms.
const foldMost = 4000

// added are the rows of counts that additions stand for, where s is a subquery with their
// names and numbers.
const added = `SELECT substr(s.name, 9, instr(s.name, ' ') - 9) AS kind, substr(s.name, instr(s.name, ' ') + 1) AS owner, substr(s.name, 1, 8) AS day, s.n AS n FROM `

// sums reads those that a condition on the names of counts holds for.
func (r reader) sums(ctx context.Context, where string, args []any) iter.Seq2[rows.Record, error] {
	if r.t != nil {
		r.t.settleCounts()
	} else {
		where += ` UNION ALL SELECT * FROM (` + added + `(SELECT key AS name, value AS n FROM additions, json_each(additions.list)) s)` + where
		args = append(args, args...)
	}
	return stream(ctx, r.src, func(row scanner) (r rows.Record, err error) {
		err = row.Scan(counts.fields(&r)...)
		return r, err
	}, `SELECT kind, owner, day, sum(n) FROM (SELECT kind, owner, day, n FROM counts`+where+`) GROUP BY kind, owner, day HAVING sum(n) <> 0 ORDER BY kind, owner, day`, args...)
}

// add notes an addition of the batch.
func (t *tx) add(c sessions.Count) {
	if t.counted == nil {
		t.counted = map[string]int64{}
	}
	t.counted[c.Day+c.Kind+" "+c.Owner] += c.N
	t.negative = t.negative || c.N < 0
}

// writeCounts writes the additions of the batch so far.
func (t *tx) writeCounts() error {
	if len(t.counted) == 0 {
		return t.err
	}
	list := make([]byte, 0, 64*len(t.counted))
	for name, n := range t.counted {
		list = appendJSON(append(list, ','), name)
		list = strconv.AppendInt(append(list, ':'), n, 10)
	}
	list[0] = '{'
	t.run(`INSERT INTO additions (list) VALUES (?)`, string(append(list, '}')))
	t.additions += len(t.counted)
	clear(t.counted)
	if t.additions >= foldMost {
		t.foldCounts()
	}
	return t.err
}

// appendJSON appends a text as JSON. Most need no escapes, and json.Marshal takes longer
// than the statement.
func appendJSON(list []byte, text string) []byte {
	special := func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= utf8.RuneSelf }
	if strings.ContainsFunc(text, special) {
		quoted, _ := json.Marshal(text) // a string cannot fail
		return append(list, quoted...)
	}
	list = append(append(list, '"'), text...)
	return append(list, '"')
}

// foldCounts moves all additions to counts. Only a negative one can make a sum zero.
func (t *tx) foldCounts() {
	t.run(`INSERT INTO counts (kind, owner, day, n) ` + added + `(SELECT key AS name, sum(value) AS n FROM additions, json_each(additions.list) GROUP BY key) s
		WHERE TRUE ON CONFLICT (kind, owner, day) DO UPDATE SET n = n + excluded.n`)
	if t.negative {
		t.run(`DELETE FROM counts WHERE n = 0 AND (kind, owner, day) IN (SELECT kind, owner, day FROM (` + added + `(SELECT key AS name, value AS n FROM additions, json_each(additions.list)) s))`)
	}
	t.run(`DELETE FROM additions`)
	t.additions, t.negative = 0, false
	if t.outdated != nil {
		t.outdated[channels.Key{}] = outdated{}
	}
}

// settleCounts moves all additions, before rows of counts are read or deleted within a
// batch. These are additions of earlier operations: a step adds after it has read.
func (t *tx) settleCounts() {
	wrote := t.wrote
	t.fail(t.writeCounts())
	t.foldCounts()
	t.wrote = wrote
}

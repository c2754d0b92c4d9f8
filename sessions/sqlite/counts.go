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
// them to counts. The writer remembers their sums, because to read the JSON of thousands
// takes as long as to write it.

// additionsTable is like [noteTables]. An older program neither sees nor changes it: what it
// misses is added when a newer one opens the file again.
const additionsTable = `CREATE TABLE IF NOT EXISTS additions (
	id   INTEGER PRIMARY KEY,
	list TEXT NOT NULL
)`

// foldMost bounds how many additions wait. To move those of 400 people takes some 10 ms.
const foldMost = 8000

// pending are the sums of the additions in their table.
type pending struct {
	sums map[sessions.Count]int64 // N of the key is 0
	// whole: nothing is in the table that is not in sums. It is not so after a start and
	// after a transaction that failed.
	whole bool
	n     int // additions in the table, or more
}

// forget makes the next fold read the table.
func (p *pending) forget() {
	p.sums = nil
	p.whole = false
}

// add adds to the sum that c names.
func (p *pending) add(c sessions.Count) {
	if p.sums == nil {
		p.sums = map[sessions.Count]int64{}
	}
	p.sums[sumOf(c)] += c.N
}

// sumOf is the name of the sum that c adds to.
func sumOf(c sessions.Count) sessions.Count {
	c.N = 0
	return c
}

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
		t.counted = map[sessions.Count]int64{}
	}
	t.counted[sumOf(c)] += c.N
}

// writeCounts writes the additions of the batch so far.
func (t *tx) writeCounts() error {
	if len(t.counted) == 0 {
		return t.err
	}
	list := make([]byte, 0, 64*len(t.counted))
	for c, n := range t.counted {
		list = append(list, `,"`...)
		list = append(list, c.Day...)
		list = append(list, c.Kind...)
		list = append(list, ' ')
		list = appendText(list, c.Owner)
		list = append(list, `":`...)
		list = strconv.AppendInt(list, n, 10)
		c.N = n
		t.pending.add(c)
	}
	list[0] = '{'
	t.run(`INSERT INTO additions (list) VALUES (?)`, string(append(list, '}')))
	t.summed = true
	t.pending.n += len(t.counted)
	clear(t.counted)
	if t.pending.n >= foldMost {
		t.foldCounts()
	}
	return t.err
}

// appendText appends the inside of a JSON string. Most need no escapes, and json.Marshal
// takes longer than the statement.
func appendText(list []byte, text string) []byte {
	special := func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= utf8.RuneSelf }
	if strings.ContainsFunc(text, special) {
		quoted, _ := json.Marshal(text) // a string cannot fail
		return append(list, quoted[1:len(quoted)-1]...)
	}
	return append(list, text...)
}

// foldCounts moves all additions to counts. Only a negative one can make a sum zero.
func (t *tx) foldCounts() {
	if !t.pending.whole {
		t.readPending()
	}
	for c, n := range t.pending.sums {
		t.run(`INSERT INTO counts (kind, owner, day, n) VALUES (?, ?, ?, ?) ON CONFLICT (kind, owner, day) DO UPDATE SET n = n + excluded.n`, c.Kind, c.Owner, c.Day, n)
		if n <= 0 {
			t.run(`DELETE FROM counts WHERE kind = ? AND owner = ? AND day = ? AND n = 0`, c.Kind, c.Owner, c.Day)
		}
	}
	t.run(`DELETE FROM additions`)
	t.summed = true
	t.pending.sums = nil
	t.pending.n = 0
	if t.outdated != nil {
		t.outdated[channels.Key{}] = outdated{}
	}
}

// readPending reads what is in the table.
func (t *tx) readPending() {
	t.pending.forget()
	for c, err := range stream(context.Background(), &t.statements, func(row scanner) (c sessions.Count, err error) {
		err = row.Scan(&c.Kind, &c.Owner, &c.Day, &c.N)
		return c, err
	}, added+`(SELECT key AS name, value AS n FROM additions, json_each(additions.list)) s`) {
		t.fail(err)
		t.pending.add(c)
	}
	t.pending.whole = true
}

// settleCounts moves all additions, before rows of counts are read or deleted within a
// batch. These are additions of earlier operations: a step adds after it has read.
func (t *tx) settleCounts() {
	wrote := t.wrote
	t.fail(t.writeCounts())
	t.foldCounts()
	t.wrote = wrote
}

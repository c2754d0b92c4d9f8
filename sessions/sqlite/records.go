package sqlite

import (
	"context"
	"iter"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// kind maps the records of one kind to their table.
type kind struct {
	table string
	// Columns: names identify a record, those in unique are enough for that, rest are the
	// others. fields are the fields of names and rest.
	names, unique, rest string
	fields              func(*rows.Record) []any
}

var (
	facts = &kind{"facts", "scope, id", "id", "at, text, origins, marks", func(r *rows.Record) []any {
		f := orNew(&r.Fact)
		return []any{&f.Scope, &f.ID, asTime(&f.At), &f.Text, asOrigins(&f.Origins), asMarks(&f.FactMarks)}
	}}
	people = &kind{"people", "channel, person", "channel, person", "name, code, compare, expires, approved", func(r *rows.Record) []any {
		p := orNew(&r.Pairing)
		compare := column{write: func() any { return rules.Code(p.Code) }}
		return []any{&p.Channel, &p.PersonID, &p.Name, &p.Code, compare, asTime(&p.Expires), asTime(&p.Approved)}
	}}
	jobs = &kind{"jobs", "job", "job", "due", func(r *rows.Record) []any {
		j := orNew(&r.Job)
		return []any{&j.Job, asTime(&j.Due)}
	}}
	occurrences = &kind{"occurrences", "job, due", "job, due", "outcome, why, at, changed", func(r *rows.Record) []any {
		o := orNew(&r.Occurrence)
		return []any{&o.Job, asTime(&o.Due), &o.Outcome, &o.Why, asTime(&o.At), asTime(&o.Changed)}
	}}
	notes = &kind{"notes", "kind, owner, name", "kind, owner, name", "due, at, data", func(r *rows.Record) []any {
		n := orNew(&r.Note)
		return []any{&n.Kind, &n.Owner, &n.Name, asTime(&n.Due), asTime(&n.At), asJSON(&n.Data)}
	}}
	counts = &kind{"counts", "kind, owner, day", "kind, owner, day", "n", func(r *rows.Record) []any {
		c := orNew(&r.Count)
		return []any{&c.Kind, &c.Owner, &c.Day, &c.N}
	}}
	aside = &kind{"aside", "channel, msg_id", "channel, msg_id", "at, dropped, why, raw", func(r *rows.Record) []any {
		a := orNew(&r.Quarantined)
		if a.Raw == nil {
			a.Raw = []byte{} // nil would be NULL
		}
		return []any{&a.Channel, &a.ID, asTime(&a.At), &a.Dropped, &a.Why, &a.Raw}
	}}
)

func orNew[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

func kindOf(r rows.Record) *kind {
	switch {
	case r.Fact != nil:
		return facts
	case r.Pairing != nil:
		return people
	case r.Job != nil:
		return jobs
	case r.Occurrence != nil:
		return occurrences
	case r.Note != nil:
		return notes
	case r.Count != nil:
		return counts
	}
	return aside
}

// like is the condition that a record has the name of an example. Zero numbers match
// any; so do empty texts, unless exact is set.
func (k *kind) like(example rows.Record, exact bool) (where string, args []any) {
	names, fields := split(k.names), k.fields(&example)
	columnValues(fields)
	for i, name := range names {
		if v := fields[i]; v != int64(0) && (v != "" || exact) {
			where, args = where+` AND `+name+` = ?`, append(args, v)
		}
	}
	if example.Kept {
		where += ` AND dropped = 0`
	}
	if example.Note != nil && !exact && !example.Note.Due.IsZero() {
		where, args = where+` AND due <> 0 AND due < ?`, append(args, nanos(example.Note.Due))
	}
	return strings.Replace(where, ` AND `, ` WHERE `, 1), args
}

func (r reader) Records(ctx context.Context, example rows.Record) iter.Seq2[rows.Record, error] {
	switch {
	case example.Store != nil:
		return r.storeRecord(ctx, example.Store.Days)
	case example.Generation != nil:
		return r.generations(ctx, example.Generation)
	case example.Summary != nil:
		return r.summaries(ctx, example.Summary.Key)
	case example.Mark != nil:
		return r.erased(ctx, *example.Mark)
	}
	k := kindOf(example)
	where, args := k.like(example, false)
	order := k.names
	if example.Note != nil && !example.Note.Due.IsZero() {
		order = "due, " + k.names
	}
	if k == counts {
		return r.sums(ctx, where, args)
	}
	return stream(ctx, r.src, func(row scanner) (r rows.Record, err error) {
		err = row.Scan(k.fields(&r)...)
		return r, err
	}, `SELECT `+k.names+`, `+k.rest+` FROM `+k.table+where+` ORDER BY `+order, args...)
}

// put replaces the record with the same name.
func (t *tx) put(r rows.Record) {
	if r.Store != nil {
		for day, n := range r.Store.Days {
			t.run(upsert("days", "day, begun", "day", "begun"), day, n)
		}
		return
	}
	k := kindOf(r)
	columns := k.names + ", " + k.rest
	t.run(upsert(k.table, columns, k.unique, columns), k.fields(&r)...)
}

// remove deletes a record, or all facts of a scope.
func (t *tx) remove(r rows.Record) {
	k := kindOf(r)
	if k == counts {
		t.settleCounts()
	}
	where, args := k.like(r, true)
	t.run(`DELETE FROM `+k.table+where, args...)
}

const summariesQuery = `SELECT s.id, s.generation, s.model, s.at, s.text, s.fields, s.origins FROM keys k JOIN conversations c ON c.key_id = k.id
	JOIN summaries s ON s.id BETWEEN k.id << 32 AND k.id << 32 | 4294967295 AND s.generation = c.generation WHERE k.key = ? ORDER BY s.id`

// summaryFields are the fields of insertSummary. key is the id of the row's key.
func summaryFields(key *int64, s *sessions.Summary) []any {
	return []any{asRowID{key, &s.CoversSeq}, &s.Generation, &s.Model, asTime(&s.At), &s.Text, asJSON(&s.Fields), asOrigins(&s.Origins)}
}

func (r reader) summaries(ctx context.Context, k channels.Key) iter.Seq2[rows.Record, error] {
	return stream(ctx, r.src, func(row scanner) (rows.Record, error) {
		s, key := &rows.Summary{Key: k}, int64(0)
		err := row.Scan(summaryFields(&key, &s.Summary)...)
		return rows.Record{Summary: s}, err
	}, summariesQuery, k.String())
}

// generations reads those of a key, or the one with an ID.
func (r reader) generations(ctx context.Context, g *rows.Generation) iter.Seq2[rows.Record, error] {
	query, args := `SELECT k.key, g.day, g.number, g.from_seq, g.began FROM generations g JOIN keys k ON k.id = g.key_id WHERE TRUE`, []any(nil)
	if !g.Key.IsZero() {
		query, args = query+` AND k.key = ?`, append(args, g.Key.String())
	}
	if g.ID != "" {
		day, n, err := rules.ParseGeneration(g.ID)
		if err != nil {
			return given[rows.Record](nil, nil)
		}
		query, args = query+` AND g.day = ? AND g.number = ?`, append(args, day, n)
	}
	return stream(ctx, r.src, func(row scanner) (rows.Record, error) {
		g := &rows.Generation{}
		var day string
		var number, from int64
		err := row.Scan(asKey(&g.Key), &day, &number, &from, asTime(&g.Began))
		g.ID, g.FirstSeq = rules.Generation(day, number), from+1
		return rows.Record{Generation: g}, err
	}, query+` ORDER BY k.key, g.id`, args...)
}

// erased reads one mark, or all. Most stores have none.
func (r reader) erased(ctx context.Context, mark string) iter.Seq2[rows.Record, error] {
	if r.t != nil && !r.t.marks {
		return given[rows.Record](nil, nil)
	}
	query, args := `SELECT hash FROM erased`, []any(nil)
	if mark != "" {
		query, args = query+` WHERE hash = ?`, []any{mark}
	}
	return stream(ctx, r.src, func(row scanner) (rows.Record, error) {
		mark := ""
		err := row.Scan(&mark)
		return rows.Record{Mark: &mark}, err
	}, query+` ORDER BY hash`, args...)
}

const storeQuery = `SELECT name, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'facts'), 0),
	(SELECT json_group_object(day, begun) FROM days WHERE day BETWEEN ? AND ?) FROM meta`

func (r reader) storeRecord(ctx context.Context, days map[string]int64) iter.Seq2[rows.Record, error] {
	from, to := "", "~" // all
	for day := range days {
		if len(days) == 1 {
			from, to = day, day
		}
	}
	var counted []byte
	rec := &rows.Store{}
	err := r.src.row(ctx, storeQuery, from, to).Scan(&rec.Name, &rec.LastFact, &counted)
	if err == nil {
		err = decode(counted, &rec.Days)
	}
	return given([]rows.Record{{Store: rec}}, err)
}

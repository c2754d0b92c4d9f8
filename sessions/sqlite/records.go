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

// kind is how records of one kind stand in their table.
type kind struct {
	table string
	// names are the columns that name a record, unique which of them differ
	// between any two, rest the others. fields are those of all, in this order.
	names, unique, rest string
	fields              func(*rows.Record) []any
}

var (
	facts = &kind{"facts", "scope, id", "id", "at, text", func(r *rows.Record) []any {
		f := made(&r.Fact)
		return []any{&f.Scope, &f.ID, at(&f.At), &f.Text}
	}}
	people = &kind{"people", "channel, person", "channel, person", "name, code, compare, expires, approved", func(r *rows.Record) []any {
		p := made(&r.Pairing)
		compare := column{write: func() any { return rules.Code(p.Code) }}
		return []any{&p.Channel, &p.PersonID, &p.Name, &p.Code, compare, at(&p.Expires), at(&p.Approved)}
	}}
	jobs = &kind{"jobs", "job", "job", "due", func(r *rows.Record) []any {
		j := made(&r.Job)
		return []any{&j.Job, at(&j.Due)}
	}}
	occurrences = &kind{"occurrences", "job, due", "job, due", "outcome, why, at", func(r *rows.Record) []any {
		o := made(&r.Occurrence)
		return []any{&o.Job, at(&o.Due), &o.Outcome, &o.Why, at(&o.At)}
	}}
	aside = &kind{"aside", "channel, msg_id", "channel, msg_id", "at, dropped, why, raw", func(r *rows.Record) []any {
		a := made(&r.Quarantined)
		if a.Raw == nil {
			a.Raw = []byte{} // which is not NULL
		}
		return []any{&a.Channel, &a.ID, at(&a.At), &a.Dropped, &a.Why, &a.Raw}
	}}
)

func made[T any](p **T) *T {
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
	}
	return aside
}

// like are the conditions that records have the names of an example. Numbers
// that are zero do not bound, and empty texts only if exact is set.
func (k *kind) like(example rows.Record, exact bool) (where string, args []any) {
	names, fields := split(k.names), k.fields(&example)
	plain(fields)
	for i, name := range names {
		if v := fields[i]; v != int64(0) && (v != "" || exact) {
			where, args = where+` AND `+name+` = ?`, append(args, v)
		}
	}
	if example.Kept {
		where += ` AND dropped = 0`
	}
	return strings.Replace(where, ` AND `, ` WHERE `, 1), args
}

// Records: see rows.Reader.
func (r reader) Records(ctx context.Context, example rows.Record) iter.Seq2[rows.Record, error] {
	switch {
	case example.Store != nil:
		return r.storeRecord(ctx, example.Store.Days)
	case example.Generation != nil:
		return r.generations(ctx, example.Generation)
	case example.Summary != nil:
		return r.summaries(ctx, example.Summary.Key)
	case example.Mark != nil:
		return r.marks(ctx, *example.Mark)
	}
	k := kindOf(example)
	where, args := k.like(example, false)
	return stream(ctx, r.src, func(row scanner) (r rows.Record, err error) {
		err = row.Scan(k.fields(&r)...)
		return r, err
	}, `SELECT `+k.names+`, `+k.rest+` FROM `+k.table+where+` ORDER BY `+k.names, args...)
}

// put stores one record in the place of the one with the same name.
func (t *tx) put(r rows.Record) {
	if r.Store != nil {
		for day, n := range r.Store.Days {
			t.run(upsert("days", "day, begun", "day", "begun"), day, n)
		}
		return
	}
	k := kindOf(r)
	replaced := k.rest
	if k.unique != k.names {
		replaced = "scope, " + replaced
	}
	t.run(upsert(k.table, k.names+", "+k.rest, k.unique, replaced), k.fields(&r)...)
}

// remove deletes one record, or all facts of a scope.
func (t *tx) remove(r rows.Record) {
	k := kindOf(r)
	where, args := k.like(r, true)
	t.run(`DELETE FROM `+k.table+where, args...)
}

const summariesQuery = `SELECT s.id, s.generation, s.model, s.at, s.text, s.fields FROM keys k JOIN conversations c ON c.key_id = k.id
	JOIN summaries s ON s.id BETWEEN k.id << 32 AND k.id << 32 | 4294967295 AND s.generation = c.generation WHERE k.key = ? ORDER BY s.id`

// summaryFields are those of a summary of the key with that id.
func summaryFields(key *int64, s *sessions.Summary) []any {
	fields := column{
		write: func() any { return string(s.Fields) },
		read: func(v any) error {
			text, _ := v.(string)
			s.Fields = rules.JSON([]byte(text))
			return nil
		},
	}
	return []any{place{key, &s.CoversSeq}, &s.Generation, &s.Model, at(&s.At), &s.Text, fields}
}

func (r reader) summaries(ctx context.Context, k channels.Key) iter.Seq2[rows.Record, error] {
	return stream(ctx, r.src, func(row scanner) (rows.Record, error) {
		s, key := &rows.Summary{Key: k}, int64(0)
		err := row.Scan(summaryFields(&key, &s.Summary)...)
		return rows.Record{Summary: s}, err
	}, summariesQuery, k.String())
}

// generations reads those of a key, or the one of an ID.
func (r reader) generations(ctx context.Context, g *rows.Generation) iter.Seq2[rows.Record, error] {
	query, args := `SELECT k.key, g.day, g.number, g.from_seq, g.began FROM generations g JOIN keys k ON k.id = g.key_id WHERE TRUE`, []any(nil)
	if !g.Key.IsZero() {
		query, args = query+` AND k.key = ?`, append(args, g.Key.String())
	}
	if g.ID != "" {
		day, n, err := rules.ParseGeneration(g.ID)
		if err != nil {
			return none[rows.Record](nil)
		}
		query, args = query+` AND g.day = ? AND g.number = ?`, append(args, day, n)
	}
	return stream(ctx, r.src, func(row scanner) (rows.Record, error) {
		g := &rows.Generation{}
		var day string
		var number, from int64
		err := row.Scan(named(&g.Key), &day, &number, &from, at(&g.Began))
		g.ID, g.FirstSeq = rules.Generation(day, number), from+1
		return rows.Record{Generation: g}, err
	}, query+` ORDER BY k.key, g.id`, args...)
}

// marks reads one, or all. Most stores have none.
func (r reader) marks(ctx context.Context, mark string) iter.Seq2[rows.Record, error] {
	if r.t != nil && !r.t.hashes {
		return none[rows.Record](nil)
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
	return func(yield func(rows.Record, error) bool) { yield(rows.Record{Store: rec}, explain(err)) }
}

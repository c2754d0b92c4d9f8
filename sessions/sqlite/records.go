package sqlite

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

const (
	personColumns  = `channel, person, name, code, expires, approved`
	summariesQuery = `SELECT s.id, s.generation, s.model, s.at, s.text, s.fields FROM keys k JOIN conversations c ON c.key_id = k.id
		JOIN summaries s ON s.id BETWEEN k.id << 32 AND k.id << 32 | 4294967295 AND s.generation = c.generation WHERE k.key = ? ORDER BY s.id`
	asideColumns = `channel, msg_id, at, dropped, why, raw`
)

func scanPerson(row scanner) (rows.Record, error) {
	p := &sessions.Pairing{}
	var expires, approved int64
	err := row.Scan(&p.Channel, &p.PersonID, &p.Name, &p.Code, &expires, &approved)
	p.Expires, p.Approved = timeOf(expires), timeOf(approved)
	return rows.Record{Pairing: p}, err
}

func scanAside(row scanner) (rows.Record, error) {
	a := &sessions.QuarantineRecord{}
	var at int64
	err := row.Scan(&a.Channel, &a.ID, &at, &a.Dropped, &a.Why, &a.Raw)
	a.At = timeOf(at)
	return rows.Record{Quarantined: a}, err
}

func scanGeneration(row scanner) (rows.Record, error) {
	g := &rows.Generation{}
	var name, day string
	var number, from, began int64
	err := row.Scan(&name, &day, &number, &from, &began)
	if err == nil {
		err = parseKey(&g.Key, name)
	}
	g.ID, g.FirstSeq, g.Began = rules.Generation(day, number), from+1, timeOf(began)
	return rows.Record{Generation: g}, err
}

func scanSummary(k channels.Key) func(scanner) (rows.Record, error) {
	return func(row scanner) (rows.Record, error) {
		s := &rows.Summary{Key: k}
		var at int64
		err := row.Scan(&s.CoversSeq, &s.Generation, &s.Model, &at, &s.Text, (*[]byte)(&s.Fields))
		s.CoversSeq, s.At, s.Fields = seqOf(s.CoversSeq), timeOf(at), rules.JSON(s.Fields)
		return rows.Record{Summary: s}, err
	}
}

func scanFact(row scanner) (rows.Record, error) {
	f := &sessions.FactRecord{}
	var at int64
	err := row.Scan(&f.Scope, &f.ID, &at, &f.Text)
	f.At = timeOf(at)
	return rows.Record{Fact: f}, err
}

func scanOccurrence(row scanner) (rows.Record, error) {
	o := &sessions.Occurrence{}
	var due, at int64
	err := row.Scan(&o.Job, &due, &o.Outcome, &o.Why, &at)
	o.Due, o.At = timeOf(due), timeOf(at)
	return rows.Record{Occurrence: o}, err
}

// like are conditions on columns, of which those with zero values are left out.
type like struct {
	conditions []string
	args       []any
}

func (l *like) text(column, value string) {
	if value != "" {
		l.conditions, l.args = append(l.conditions, column+" = ?"), append(l.args, value)
	}
}

func (l *like) number(column string, value int64) {
	if value != 0 {
		l.conditions, l.args = append(l.conditions, column+" = ?"), append(l.args, value)
	}
}

func (l *like) query(columns, table, order string) string {
	query := `SELECT ` + columns + ` FROM ` + table
	if len(l.conditions) > 0 {
		query += ` WHERE ` + strings.Join(l.conditions, ` AND `)
	}
	return query + ` ORDER BY ` + order
}

// Records: see rows.Reader.
func (r reader) Records(ctx context.Context, example rows.Record) iter.Seq2[rows.Record, error] {
	var l like
	switch {
	case example.Store != nil:
		return r.storeRecord(ctx, example.Store.Days)
	case example.Generation != nil:
		return r.generations(ctx, example.Generation)
	case example.Summary != nil:
		k := example.Summary.Key
		return stream(ctx, r.src, scanSummary(k), summariesQuery, k.String())
	case example.Mark != nil:
		return r.marks(ctx, *example.Mark)
	case example.Fact != nil:
		l.text("scope", example.Fact.Scope)
		l.number("id", example.Fact.ID)
		return stream(ctx, r.src, scanFact, l.query("scope, id, at, text", "facts", "scope, id"), l.args...)
	case example.Pairing != nil:
		l.text("channel", example.Pairing.Channel)
		l.text("person", example.Pairing.PersonID)
		return stream(ctx, r.src, scanPerson, l.query(personColumns, "people", "channel, person"), l.args...)
	case example.Job != nil:
		l.text("job", example.Job.Job)
		return stream(ctx, r.src, func(row scanner) (rows.Record, error) {
			j := &sessions.JobRecord{}
			var due int64
			err := row.Scan(&j.Job, &due)
			j.Due = timeOf(due)
			return rows.Record{Job: j}, err
		}, l.query("job, due", "jobs", "job"), l.args...)
	case example.Occurrence != nil:
		l.text("job", example.Occurrence.Job)
		l.number("due", nanos(example.Occurrence.Due))
		return stream(ctx, r.src, scanOccurrence, l.query("job, due, outcome, why, at", "occurrences", "job, due"), l.args...)
	case example.Quarantined != nil:
		l.text("channel", example.Quarantined.Channel)
		l.text("msg_id", example.Quarantined.ID)
		if example.Kept {
			l.conditions = append(l.conditions, "dropped = 0")
		}
		return stream(ctx, r.src, scanAside, l.query(asideColumns, "aside", "channel, msg_id"), l.args...)
	}
	return none[rows.Record](nil)
}

// generations reads those of a key, or the one of an ID.
func (r reader) generations(ctx context.Context, g *rows.Generation) iter.Seq2[rows.Record, error] {
	var l like
	if !g.Key.IsZero() {
		l.text("k.key", g.Key.String())
	}
	if g.ID != "" {
		day, n, err := rules.ParseGeneration(g.ID)
		if err != nil {
			return none[rows.Record](nil)
		}
		l.text("g.day", day)
		l.number("g.number", n)
	}
	return stream(ctx, r.src, scanGeneration, l.query("k.key, g.day, g.number, g.from_seq, g.began", "generations g JOIN keys k ON k.id = g.key_id", "k.key, g.id"), l.args...)
}

// marks reads one, or all. Most stores have none.
func (r reader) marks(ctx context.Context, mark string) iter.Seq2[rows.Record, error] {
	if r.t != nil && !r.t.hashes {
		return none[rows.Record](nil)
	}
	var l like
	l.text("hash", mark)
	marks, err := all(ctx, r.src, func(row scanner) (mark string, err error) {
		err = row.Scan(&mark)
		return mark, err
	}, l.query("hash", "erased", "hash"), l.args...)
	if err == nil && (mark == "" || len(marks) == 0) {
		var hidden []string
		if hidden, err = r.hiddenMarks(ctx); err == nil {
			marks = append(marks, slices.DeleteFunc(hidden, func(h string) bool { return mark != "" && h != mark })...)
		}
	}
	slices.Sort(marks)
	var list []rows.Record
	for _, m := range slices.Compact(marks) {
		list = append(list, rows.Record{Mark: &m})
	}
	if err != nil {
		return none[rows.Record](err)
	}
	return given(list)
}

func (r reader) storeRecord(ctx context.Context, days map[string]int64) iter.Seq2[rows.Record, error] {
	rec := &rows.Store{Days: map[string]int64{}}
	err := r.src.row(ctx, `SELECT name, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'facts'), 0) FROM meta`).Scan(&rec.Name, &rec.LastFact)
	var l like
	if len(days) == 1 {
		l.text("day", slices.Collect(maps.Keys(days))[0])
	}
	for _, e := range stream(ctx, r.src, func(row scanner) (n int64, err error) {
		var day string
		err = row.Scan(&day, &n)
		rec.Days[day] = n
		return n, err
	}, l.query("day, begun", "days", "day"), l.args...) {
		if err == nil {
			err = e
		}
	}
	return func(yield func(rows.Record, error) bool) { yield(rows.Record{Store: rec}, explain(err)) }
}

// put stores one record in the place of the one with the same name.
func (t *tx) put(r rows.Record) error {
	switch {
	case r.Store != nil:
		for day, n := range r.Store.Days {
			if err := t.exec(`INSERT INTO days (day, begun) VALUES (?, ?) ON CONFLICT (day) DO UPDATE SET begun = excluded.begun`, day, n); err != nil {
				return err
			}
		}
		return nil
	case r.Fact != nil:
		return t.exec(`INSERT INTO facts (id, scope, at, text) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET scope = excluded.scope, at = excluded.at, text = excluded.text`,
			r.Fact.ID, r.Fact.Scope, nanos(r.Fact.At), r.Fact.Text)
	case r.Pairing != nil:
		p := r.Pairing
		return t.exec(`INSERT INTO people (channel, person, name, code, compare, expires, approved) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (channel, person) DO UPDATE SET name = excluded.name, code = excluded.code, compare = excluded.compare,
			expires = excluded.expires, approved = excluded.approved`,
			p.Channel, p.PersonID, p.Name, p.Code, rules.Code(p.Code), nanos(p.Expires), nanos(p.Approved))
	case r.Job != nil:
		return t.exec(`INSERT INTO jobs (job, due) VALUES (?, ?) ON CONFLICT (job) DO UPDATE SET due = excluded.due`, r.Job.Job, nanos(r.Job.Due))
	case r.Occurrence != nil:
		o := r.Occurrence
		return t.exec(`INSERT INTO occurrences (job, due, outcome, why, at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (job, due) DO UPDATE SET outcome = excluded.outcome, why = excluded.why, at = excluded.at`,
			o.Job, nanos(o.Due), o.Outcome, o.Why, nanos(o.At))
	}
	a := r.Quarantined
	if a.Raw == nil {
		a.Raw = []byte{}
	}
	return t.exec(`INSERT INTO aside (channel, msg_id, at, dropped, why, raw) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (channel, msg_id) DO UPDATE SET at = excluded.at, dropped = excluded.dropped, why = excluded.why, raw = excluded.raw`,
		a.Channel, a.ID, nanos(a.At), a.Dropped, a.Why, a.Raw)
}

// remove deletes one record.
func (t *tx) remove(r rows.Record) error {
	switch {
	case r.Fact != nil:
		return t.exec(`DELETE FROM facts WHERE scope = ?1 AND (?2 = 0 OR id = ?2)`, r.Fact.Scope, r.Fact.ID)
	case r.Pairing != nil:
		return t.exec(`DELETE FROM people WHERE channel = ? AND person = ?`, r.Pairing.Channel, r.Pairing.PersonID)
	}
	return t.exec(`DELETE FROM aside WHERE channel = ? AND msg_id = ?`, r.Quarantined.Channel, r.Quarantined.ID)
}

package postgres

import (
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// record is a rows.Record as the table records has it: its kind and the parts of its
// name. In an example a zero part matches all.
type record struct {
	kind string
	a, b string
	n    int64
	kept bool // not dropped
	data any
}

func recordOf(r rows.Record) record {
	switch {
	case r.Fact != nil:
		return record{"fact", r.Fact.Scope, "", r.Fact.ID, true, r.Fact}
	case r.Pairing != nil:
		return record{"pairing", r.Pairing.Channel, r.Pairing.PersonID, 0, true, r.Pairing}
	case r.Job != nil:
		return record{"job", r.Job.Job, "", 0, true, r.Job}
	case r.Occurrence != nil:
		n := int64(0)
		if !r.Occurrence.Due.IsZero() {
			n = nanos(r.Occurrence.Due)
		}
		return record{"occurrence", r.Occurrence.Job, "", n, true, r.Occurrence}
	}
	return record{"quarantined", r.Quarantined.Channel, r.Quarantined.ID, 0, !r.Quarantined.Dropped, r.Quarantined}
}

// Records: see rows.Reader. Within an update it locks the kind.
func (r reader) Records(ctx context.Context, like rows.Record) iter.Seq2[rows.Record, error] {
	switch {
	case like.Store != nil:
		return r.storeRecord(ctx, like.Store.Days)
	case like.Generation != nil:
		return r.generations(ctx, like.Generation.Key, like.Generation.ID)
	case like.Summary != nil:
		return r.summaries(ctx, like.Summary.Key)
	case like.Mark != nil:
		return r.marks(ctx, *like.Mark)
	case like.Note != nil:
		return r.notes(ctx, like.Note)
	case like.Count != nil:
		return r.counts(ctx, like.Count)
	}
	l := recordOf(like)
	return pages(record{n: math.MinInt64}, func(at record, most int) ([]rows.Record, error) {
		if err := r.lockKind(ctx, l.kind); err != nil {
			return nil, err
		}
		return all(ctx, r.q, func(row pgx.CollectableRow) (rec rows.Record, err error) {
			data, err := pgx.RowTo[string](row)
			if err == nil {
				err = decode(`{"`+l.kind+`":`+data+`}`, &rec)
			}
			return rec, err
		}, `SELECT data FROM records WHERE kind = $1 AND (a, b, n) > ($2, $3, $4)
			AND ($6 OR a = $7) AND ($8 OR b = $9) AND ($10 OR n = $11) AND (kept OR NOT $12) ORDER BY a, b, n LIMIT $5`,
			l.kind, []byte(at.a), []byte(at.b), at.n, most, l.a == "", []byte(l.a), l.b == "", []byte(l.b), l.n == 0, l.n, like.Kept)
	}, recordOf)
}

// generations yields those of a key, or the one called id.
func (r reader) generations(ctx context.Context, k channels.Key, id string) iter.Seq2[rows.Record, error] {
	return yieldAll(all(ctx, r.q, func(row pgx.CollectableRow) (rows.Record, error) {
		g := &rows.Generation{}
		var key, data string
		err := row.Scan(&key, &data)
		if err == nil {
			err = decode(data, &g.Generation)
		}
		if err == nil {
			g.Key, err = channels.ParseKey(key)
		}
		return rows.Record{Generation: g}, err
	}, `SELECT k.key, g.data FROM generations g JOIN keys k ON k.id = g.key_id WHERE ($1 = '' OR k.key = $1) AND ($2 = '' OR g.name = $2) ORDER BY k.key, g.first, g.name`,
		k.String(), id))
}

// summaries yields those of the current generation of a key.
func (r reader) summaries(ctx context.Context, k channels.Key) iter.Seq2[rows.Record, error] {
	h, _, err := r.Head(ctx, k)
	if err != nil || h.Conversation == nil {
		return yieldAll[rows.Record](nil, err)
	}
	return yieldAll(all(ctx, r.q, func(row pgx.CollectableRow) (rows.Record, error) {
		s, err := scanJSON[sessions.Summary](row)
		return rows.Record{Summary: &rows.Summary{Key: k, Summary: s}}, err
	}, `SELECT s.data FROM summaries s JOIN keys k ON k.id = s.key_id WHERE k.key = $1 AND s.generation = $2 ORDER BY s.covers`, k.String(), h.Conversation.Generation))
}

// marks yields all marks, or the given one if it exists.
func (r reader) marks(ctx context.Context, mark string) iter.Seq2[rows.Record, error] {
	if r.t != nil && mark != "" && mark == r.t.unmarked {
		return yieldAll[rows.Record](nil, nil)
	}
	scan := func(row pgx.CollectableRow) (rows.Record, error) {
		mark, err := pgx.RowTo[string](row)
		return rows.Record{Mark: &mark}, err
	}
	if mark != "" {
		return yieldAll(all(ctx, r.q, scan, `SELECT hash FROM marks WHERE hash = $1`, mark))
	}
	return pages("", func(at string, most int) ([]rows.Record, error) {
		return all(ctx, r.q, scan, `SELECT hash FROM marks WHERE hash > $1 ORDER BY hash LIMIT $2`, at, most)
	}, func(r rows.Record) string { return *r.Mark })
}

// lockKind locks a kind of records within an update, so that no other update changes
// or adds one before the commit.
func (r reader) lockKind(ctx context.Context, kind string) error {
	if r.t == nil || r.t.kinds[kind] {
		return nil
	}
	r.t.kinds[kind] = true
	_, err := r.t.Exec(ctx, `SELECT pg_advisory_xact_lock($1, hashtext($2))`, lockClass, kind)
	return err
}

// storeRecord yields the record of the store, with the counters of the given days, or
// of all if none is given.
func (r reader) storeRecord(ctx context.Context, some map[string]int64) iter.Seq2[rows.Record, error] {
	if r.t != nil {
		if own := r.t.takeNumber(some); own != nil {
			return yieldAll([]rows.Record{{Store: own}}, nil)
		}
	}
	about := &rows.Store{Days: map[string]int64{}}
	if err := r.lockKind(ctx, "store"); err != nil {
		return yieldAll[rows.Record](nil, err)
	}
	list, err := r.q.Query(ctx, `SELECT name, facts, coalesce(day, ''), coalesce(begun, 0) FROM meta LEFT JOIN days ON cardinality($1::text[]) = 0 OR day = ANY($1)`, slices.AppendSeq([]string{}, maps.Keys(some)))
	if err == nil {
		var day string
		var begun int64
		_, err = pgx.ForEachRow(list, []any{&about.Name, &about.LastFact, &day, &begun}, func() error {
			if day != "" {
				about.Days[day] = begun
			}
			return nil
		})
	}
	return yieldAll([]rows.Record{{Store: about}}, err)
}

// putRecords queues the changes of records.
func (t *tx) putRecords(c *rows.Changes) {
	if c.Name != nil {
		t.queue(`UPDATE meta SET name = $1`, strings.ReplaceAll(*c.Name, "\x00", "\uFFFD"))
	}
	for _, r := range c.Removed {
		switch {
		case r.Note != nil:
			t.queue(`DELETE FROM notes WHERE kind = $1 AND owner = $2 AND name = $3`, r.Note.Kind, r.Note.Owner, r.Note.Name)
			continue
		case r.Count != nil:
			t.removeCount(r.Count)
			continue
		}
		n := recordOf(r)
		query := `DELETE FROM records WHERE kind = $1 AND a = $2 AND b = $3 AND n = $4`
		if r.Fact != nil && n.n == 0 {
			query = `DELETE FROM records WHERE kind = $1 AND a = $2 AND b = $3 AND $4::bigint = 0`
		}
		t.queue(query, n.kind, []byte(n.a), []byte(n.b), n.n)
	}
	for _, r := range c.Records {
		if r.Note != nil {
			t.putNote(r.Note)
			continue
		}
		if r.Store != nil {
			for day, begun := range r.Store.Days {
				t.queue(`INSERT INTO days (day, begun) VALUES ($1, $2) ON CONFLICT (day) DO UPDATE SET begun = excluded.begun`, day, begun)
			}
			continue
		}
		n := recordOf(r)
		t.queue(`INSERT INTO records (kind, a, b, n, kept, data) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (kind, a, b, n) DO UPDATE SET kept = excluded.kept, data = excluded.data`, n.kind, []byte(n.a), []byte(n.b), n.n, n.kept, encode(n.data))
		if r.Fact != nil {
			t.queue(`UPDATE meta SET facts = greatest(facts, $1)`, n.n)
		}
	}
	t.add(c.Add)
	for _, mark := range c.Marks {
		t.queue(`INSERT INTO marks (hash) VALUES ($1) ON CONFLICT DO NOTHING`, mark)
	}
}

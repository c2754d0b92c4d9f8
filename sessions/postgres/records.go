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

// name is how a record is found: its kind, and the parts of its name, of which
// those that are zero choose any in an example.
type name struct {
	kind string
	a, b string
	n    int64
	kept bool // not dropped
	data any
}

func nameOf(r rows.Record) name {
	switch {
	case r.Fact != nil:
		return name{"fact", r.Fact.Scope, "", r.Fact.ID, true, r.Fact}
	case r.Pairing != nil:
		return name{"pairing", r.Pairing.Channel, r.Pairing.PersonID, 0, true, r.Pairing}
	case r.Job != nil:
		return name{"job", r.Job.Job, "", 0, true, r.Job}
	case r.Occurrence != nil:
		n := int64(0)
		if !r.Occurrence.Due.IsZero() {
			n = nanos(r.Occurrence.Due)
		}
		return name{"occurrence", r.Occurrence.Job, "", n, true, r.Occurrence}
	}
	return name{"quarantined", r.Quarantined.Channel, r.Quarantined.ID, 0, !r.Quarantined.Dropped, r.Quarantined}
}

// Records: see rows.Reader. Inside of an update the kind is locked.
func (r reader) Records(ctx context.Context, like rows.Record) iter.Seq2[rows.Record, error] {
	switch {
	case like.Store != nil:
		return r.store(ctx, like.Store.Days)
	case like.Generation != nil:
		return r.generations(ctx, like.Generation.Key, like.Generation.ID)
	case like.Summary != nil:
		return r.summaries(ctx, like.Summary.Key)
	case like.Mark != nil:
		return r.marks(ctx, *like.Mark)
	}
	l := nameOf(like)
	return pages(name{n: math.MinInt64}, func(at name, most int) ([]rows.Record, error) {
		if err := r.lock(ctx, l.kind); err != nil {
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
	}, nameOf)
}

// generations are those of a key, or the one called id.
func (r reader) generations(ctx context.Context, k channels.Key, id string) iter.Seq2[rows.Record, error] {
	return given(all(ctx, r.q, func(row pgx.CollectableRow) (rows.Record, error) {
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

// summaries are those of the current generation of a key.
func (r reader) summaries(ctx context.Context, k channels.Key) iter.Seq2[rows.Record, error] {
	h, _, err := r.Head(ctx, k)
	if err != nil || h.Conversation == nil {
		return given[rows.Record](nil, err)
	}
	return given(all(ctx, r.q, func(row pgx.CollectableRow) (rows.Record, error) {
		s, err := scanJSON[sessions.Summary](row)
		return rows.Record{Summary: &rows.Summary{Key: k, Summary: s}}, err
	}, `SELECT s.data FROM summaries s JOIN keys k ON k.id = s.key_id WHERE k.key = $1 AND s.generation = $2 ORDER BY s.covers`, k.String(), h.Conversation.Generation))
}

// marks are all, or the one that is given.
func (r reader) marks(ctx context.Context, mark string) iter.Seq2[rows.Record, error] {
	if r.t != nil && mark != "" && mark == r.t.unmarked {
		return given[rows.Record](nil, nil)
	}
	scan := func(row pgx.CollectableRow) (rows.Record, error) {
		mark, err := pgx.RowTo[string](row)
		return rows.Record{Mark: &mark}, err
	}
	if mark != "" {
		return given(all(ctx, r.q, scan, `SELECT hash FROM marks WHERE hash = $1`, mark))
	}
	return pages("", func(at string, most int) ([]rows.Record, error) {
		return all(ctx, r.q, scan, `SELECT hash FROM marks WHERE hash > $1 ORDER BY hash LIMIT $2`, at, most)
	}, func(r rows.Record) string { return *r.Mark })
}

// given yields what was read.
func given[T any](list []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// lock locks a kind of records inside of an update: what is counted or looked
// for there stays so until the commit.
func (r reader) lock(ctx context.Context, kind string) error {
	if r.t == nil {
		return nil
	}
	return r.t.kind(ctx, kind)
}

// store is what is known of the whole store, with the counters of some days or
// of all.
func (r reader) store(ctx context.Context, some map[string]int64) iter.Seq2[rows.Record, error] {
	about := &rows.Store{Days: map[string]int64{}}
	if err := r.lock(ctx, "store"); err != nil {
		return given[rows.Record](nil, err)
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
	return given([]rows.Record{{Store: about}}, err)
}

// records queues what c changes of them.
func (t *tx) records(c *rows.Changes) {
	if c.Name != nil {
		t.queue(`UPDATE meta SET name = $1`, strings.ReplaceAll(*c.Name, "\x00", "\uFFFD"))
	}
	for _, r := range c.Removed {
		n := nameOf(r)
		query := `DELETE FROM records WHERE kind = $1 AND a = $2 AND b = $3 AND n = $4`
		if r.Fact != nil && n.n == 0 {
			query = `DELETE FROM records WHERE kind = $1 AND a = $2 AND b = $3 AND $4::bigint = 0`
		}
		t.queue(query, n.kind, []byte(n.a), []byte(n.b), n.n)
	}
	for _, r := range c.Records {
		if r.Store != nil {
			for day, begun := range r.Store.Days {
				t.queue(`INSERT INTO days (day, begun) VALUES ($1, $2) ON CONFLICT (day) DO UPDATE SET begun = excluded.begun`, day, begun)
			}
			continue
		}
		n := nameOf(r)
		t.queue(`INSERT INTO records (kind, a, b, n, kept, data) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (kind, a, b, n) DO UPDATE SET kept = excluded.kept, data = excluded.data`, n.kind, []byte(n.a), []byte(n.b), n.n, n.kept, encode(n.data))
		if r.Fact != nil {
			t.queue(`UPDATE meta SET facts = greatest(facts, $1)`, n.n)
		}
	}
	for _, mark := range c.Marks {
		t.queue(`INSERT INTO marks (hash) VALUES ($1) ON CONFLICT DO NOTHING`, mark)
	}
}

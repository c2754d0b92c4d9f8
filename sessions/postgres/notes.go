package postgres

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// ownersMost is how many owners' notes an update locks one by one. If it reads more, it
// locks all notes: the server has room for some thousand locks.
const ownersMost = 32

// notesLock is the advisory lock of all notes. Who changes the notes of one owner shares
// it and locks the owner's; who reads notes of several has it alone.
const notesLock = `hashtext('notes')`

// condition is the WHERE of a query that grows by one comparison at a time.
type condition struct {
	where string
	args  []any
}

// and adds a comparison whose %d is the number of its argument.
func (c *condition) and(format string, arg any) {
	c.args = append(c.args, arg)
	c.where += " AND " + fmt.Sprintf(format, len(c.args))
}

// after adds that a row comes after at, in an order by columns.
func (c *condition) after(columns string, at ...any) {
	var numbers []string
	for _, arg := range at {
		c.args = append(c.args, arg)
		numbers = append(numbers, fmt.Sprintf("$%d", len(c.args)))
	}
	c.where += fmt.Sprintf(" AND (%s) > (%s)", columns, strings.Join(numbers, ", "))
}

// named adds the parts of a name that are set.
func (c *condition) named(parts [][2]string) {
	for _, part := range parts {
		if part[1] != "" {
			c.and(part[0]+" = $%d", part[1])
		}
	}
}

// notes yields notes by example. Within an update it locks them.
func (r reader) notes(ctx context.Context, like *sessions.Note) iter.Seq2[rows.Record, error] {
	order := "kind, owner, name"
	if !like.Due.IsZero() {
		order = "due, kind, owner, name"
	}
	return pages(nil, func(at *sessions.Note, most int) ([]rows.Record, error) {
		if err := r.lockNotes(ctx, like.Kind, like.Owner); err != nil {
			return nil, err
		}
		c := &condition{args: []any{most}}
		c.named([][2]string{{"kind", like.Kind}, {"owner", like.Owner}, {"name", like.Name}})
		if !like.Due.IsZero() {
			c.and("due < $%d AND due > -9223372036854775808", nanos(like.Due))
		}
		switch {
		case at == nil:
		case !like.Due.IsZero():
			c.after(order, nanos(at.Due), at.Kind, at.Owner, at.Name)
		default:
			c.after(order, at.Kind, at.Owner, at.Name)
		}
		return all(ctx, r.q, scanNote, `SELECT kind, owner, name, due, at, data FROM notes WHERE TRUE`+c.where+` ORDER BY `+order+` LIMIT $1`, c.args...)
	}, func(r rows.Record) *sessions.Note { return r.Note })
}

func scanNote(row pgx.CollectableRow) (rows.Record, error) {
	n := &sessions.Note{}
	var due, at int64
	var data string
	err := row.Scan(&n.Kind, &n.Owner, &n.Name, &due, &at, &data)
	n.Due, n.At = timeOf(due), timeOf(at)
	if data != "" {
		n.Data = []byte(data)
	}
	return rows.Record{Note: n}, err
}

// lockNotes locks the notes of an owner within an update, or all if kind or owner is
// empty.
func (r reader) lockNotes(ctx context.Context, kind, owner string) error {
	t := r.t
	if t == nil || t.owners[allNotes] {
		return nil
	}
	place := [2]string{kind, owner}
	if kind == "" || owner == "" || len(t.owners) >= ownersMost {
		place = allNotes
	}
	if t.owners[place] {
		return nil
	}
	t.owners[place] = true
	if place == allNotes {
		_, err := t.Exec(ctx, `SELECT pg_advisory_xact_lock($1, `+notesLock+`)`, lockClass)
		return err
	}
	_, err := t.Exec(ctx, `SELECT pg_advisory_xact_lock_shared($1, `+notesLock+`), pg_advisory_xact_lock($1, hashtext('note ' || $2 || ' ' || $3))`, lockClass, kind, owner)
	return err
}

// allNotes stands for every kind and owner in tx.owners.
var allNotes = [2]string{}

// lockNotesOf locks the notes that a step changes and did not read.
func (t *tx) lockNotesOf(ctx context.Context, lists ...[]rows.Record) error {
	for _, list := range lists {
		for _, r := range list {
			if r.Note == nil {
				continue
			}
			if err := (reader{t, t}).lockNotes(ctx, r.Note.Kind, r.Note.Owner); err != nil {
				return err
			}
		}
	}
	return nil
}

// counts yields sums by example: what is in counts and in additions. Within an update it
// locks them for other updates that read them, but not for additions.
func (r reader) counts(ctx context.Context, like *sessions.Count) iter.Seq2[rows.Record, error] {
	return pages(nil, func(at *sessions.Count, most int) ([]rows.Record, error) {
		if err := r.lockKind(ctx, "count"); err != nil {
			return nil, err
		}
		c := &condition{args: []any{most}}
		c.named([][2]string{{"kind", like.Kind}, {"owner", like.Owner}, {"day", like.Day}})
		if at != nil {
			c.after("kind, owner, day", at.Kind, at.Owner, at.Day)
		}
		return all(ctx, r.q, scanCount, `SELECT kind, owner, day, sum(n)::bigint FROM (
				SELECT kind, owner, day, n FROM counts WHERE TRUE`+c.where+` UNION ALL SELECT kind, owner, day, n FROM additions WHERE TRUE`+c.where+`) c
			GROUP BY kind, owner, day HAVING sum(n) <> 0 ORDER BY kind, owner, day LIMIT $1`, c.args...)
	}, func(r rows.Record) *sessions.Count { return r.Count })
}

func scanCount(row pgx.CollectableRow) (rows.Record, error) {
	c := &sessions.Count{}
	err := row.Scan(&c.Kind, &c.Owner, &c.Day, &c.N)
	return rows.Record{Count: c}, err
}

// putNote queues a note.
func (t *tx) putNote(n *sessions.Note) {
	t.queue(`INSERT INTO notes (kind, owner, name, due, at, data) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (kind, owner, name) DO UPDATE SET due = excluded.due, at = excluded.at, data = excluded.data`,
		n.Kind, n.Owner, n.Name, nanos(n.Due), nanos(n.At), string(n.Data))
}

// removeCount queues the end of a sum. Additions come first, in the order of fold: what
// fold is moving now is found in counts.
func (t *tx) removeCount(c *sessions.Count) {
	for _, table := range []string{"additions", "counts"} {
		t.queue(`DELETE FROM `+table+` WHERE kind = $1 AND owner = $2 AND day = $3`, c.Kind, c.Owner, c.Day)
	}
}

// add queues additions as new rows.
func (t *tx) add(list []sessions.Count) {
	if len(list) == 0 {
		return
	}
	var kinds, owners, days []string
	var numbers []int64
	for _, c := range list {
		kinds = append(kinds, c.Kind)
		owners = append(owners, c.Owner)
		days = append(days, c.Day)
		numbers = append(numbers, c.N)
	}
	t.queue(`INSERT INTO additions (kind, owner, day, n) SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[])`, kinds, owners, days, numbers)
	t.b.added.Store(true)
}

const (
	// foldEvery is how often a node that added moves additions to counts, and foldMost how
	// many it moves in one statement.
	foldEvery = 2 * time.Second
	foldMost  = 10_000
)

// foldQuery moves additions to counts, and says how many, and whether a sum became zero. It skips rows that a removal holds.
const foldQuery = `WITH gone AS (DELETE FROM additions WHERE ctid = ANY(ARRAY(SELECT ctid FROM additions LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING kind, owner, day, n),
	moved AS (INSERT INTO counts (kind, owner, day, n) SELECT kind, owner, day, sum(n) FROM gone GROUP BY kind, owner, day ORDER BY kind, owner, day
		ON CONFLICT (kind, owner, day) DO UPDATE SET n = counts.n + excluded.n RETURNING counts.n)
	SELECT (SELECT count(*) FROM gone), EXISTS (SELECT 1 FROM moved WHERE n = 0)`

// fold moves all additions to counts. It does nothing while another node does it.
func (b *backend) fold(ctx context.Context) error {
	for moved := foldMost; moved == foldMost; {
		moved = 0
		err := pgx.BeginFunc(ctx, b.pool, func(t pgx.Tx) error {
			mine, err := value[bool](ctx, t, `SELECT pg_try_advisory_xact_lock($1, hashtext('fold'))`, lockClass)
			if err != nil || !mine {
				return err
			}
			var zero bool
			err = t.QueryRow(ctx, foldQuery, foldMost).Scan(&moved, &zero)
			if err == nil && zero {
				_, err = t.Exec(ctx, `DELETE FROM counts WHERE n = 0`)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// foldLoop folds while this node is one of those that work, until ctx ends.
func (b *backend) foldLoop(ctx context.Context) {
	b.added.Store(true) // others may have left some
	ticker := time.NewTicker(foldEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.node.lost.Done():
			return
		case <-ticker.C:
		}
		if !b.added.Swap(false) {
			continue
		}
		if err := b.fold(ctx); err != nil && ctx.Err() == nil {
			b.added.Store(true)
			b.Logger.Warn("could not fold counts; will try again", "err", b.explain(err))
		}
	}
}

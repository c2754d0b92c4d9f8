package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"dragoman/channels"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

const (
	// mostTries is how often a step is run at most; after a few of them it is not
	// a race any more that makes it fail.
	mostTries = 30
	// patience bounds a transaction. Large imports take minutes.
	patience = 15 * time.Minute
	// batchMost is how many statements are sent at once.
	batchMost = 500
)

// beginQuery has PostgreSQL end a transaction that nobody goes on with, in
// milliseconds: a node that was frozen would hold the locks of its keys until it
// wakes.
const (
	beginQuery = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = %d"
	leastIdle  = 5 * time.Second // a busy machine may pause
)

// again reports whether a transaction that ended with err may do better when it
// is run once more: it met another one.
func again(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case "40001", "40P01", // serialization failure, deadlock
		"55P03", // a lock that would be taken out of order is not free
		"23505": // somebody else was first to store the same message, delivery or generation
		return true
	}
	return false
}

// keyRow is the row of a key as its transaction found it, and locked it.
type keyRow struct {
	id                   int64
	known, gone          bool
	head                 rows.Head
	version, rest        int64
	wake, live, failures int64
	due                  *int64
	node                 string
}

// tx is one try of a change.
type tx struct {
	pgx.Tx
	b     *backend
	keys  map[channels.Key]*keyRow // locked
	last  string                   // the highest of them
	kinds map[string]bool          // locked kinds of records
	batch pgx.Batch
	size  int // of the messages in it
}

// Update runs a step: see rows.Backend. Its keys are locked as it reads them. A
// key that comes out of order is locked only if that takes no waiting; else the
// step is run again, and all keys that it has asked for are locked in order
// first. Thus two steps never wait for each other in a circle.
func (b *backend) Update(ctx context.Context, keys []channels.Key, f func(rows.Reader) (rows.Changes, error)) error {
	return b.change(ctx, keys, func(ctx context.Context, t *tx) (after func(), err error) {
		changes, err := guard(func() (rows.Changes, error) { return f(reader{t, b, t}) })
		if err != nil || changes.Empty() {
			return nil, err
		}
		due, err := t.apply(ctx, changes)
		return func() { b.changed(t, changes.Fenced, due) }, err
	})
}

// change commits what f does, in one transaction, and calls after once that is
// durable. Without after nothing is committed. It runs f again if its transaction meets another.
func (b *backend) change(ctx context.Context, keys []channels.Key, f func(context.Context, *tx) (after func(), err error)) error {
	want := map[channels.Key]bool{}
	for _, k := range keys {
		if !k.IsZero() {
			want[k] = true
		}
	}
	for try := 1; ; try++ {
		err := b.try(ctx, want, f)
		if !again(err) || try == mostTries {
			return err
		}
		timer := time.NewTimer(rand.N(time.Duration(try) * 5 * time.Millisecond))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// guard turns a panic of f's into its error.
func guard[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = rules.Panic(p)
		}
	}()
	return f()
}

func (b *backend) try(ctx context.Context, want map[channels.Key]bool, f func(context.Context, *tx) (func(), error)) error {
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	// From here on nobody leaves: a commit that is given up may have happened.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	t := &tx{b: b, keys: map[channels.Key]*keyRow{}, kinds: map[string]bool{}}
	if t.Tx, err = conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: fmt.Sprintf(beginQuery, max(b.ttl, leastIdle).Milliseconds())}); err != nil {
		return err
	}
	defer t.leave(ctx, want)
	for _, k := range slices.SortedFunc(maps.Keys(want), compareKeys) {
		if _, err := t.key(ctx, k); err != nil {
			return err
		}
	}
	after, err := f(ctx, t)
	if err == nil && after != nil && b.fault != nil {
		err = b.fault()
	}
	if err != nil || after == nil {
		return err
	}
	if err := t.Commit(ctx); err != nil {
		return err
	}
	after()
	return nil
}

// leave ends what was not committed, and notes which keys it asked for.
func (t *tx) leave(ctx context.Context, want map[channels.Key]bool) {
	for k := range t.keys {
		want[k] = true
	}
	_ = t.Rollback(ctx) // it fails after a commit, and on a connection that is gone
}

func compareKeys(a, b channels.Key) int {
	switch {
	case a.String() < b.String():
		return -1
	case a == b:
		return 0
	}
	return 1
}

const keyColumns = `id, key, known, seq, msg_seq, waiting, updated IS NOT NULL, conversation, version, rest, wake, live, failures, due, node`

func scanKey(row pgx.CollectableRow) (*keyRow, error) {
	r := &keyRow{}
	var key, text string
	var has bool
	err := row.Scan(&r.id, &key, &r.known, &r.head.Seq, &r.head.MessageSeq, &r.head.Waiting, &has, &text,
		&r.version, &r.rest, &r.wake, &r.live, &r.failures, &r.due, &r.node)
	if err != nil {
		return nil, err
	}
	r.head.Claim = r.live
	if r.head.Key, err = channels.ParseKey(key); err != nil || !has {
		return r, err
	}
	var c conversation
	err = decode(text, &c)
	own := rows.Conversation(c)
	r.head.Conversation = &own
	return r, err
}

// key locks k and reads its row, making one that is not known if there is none.
func (t *tx) key(ctx context.Context, k channels.Key) (*keyRow, error) {
	if r := t.keys[k]; r != nil {
		return r, nil
	}
	name := k.String()
	lock := ` FOR UPDATE`
	if name < t.last {
		lock = ` FOR UPDATE NOWAIT`
	}
	for {
		r, err := one(ctx, t, scanKey, `SELECT `+keyColumns+` FROM keys WHERE key = $1`+lock, name)
		switch {
		case errors.Is(err, pgx.ErrNoRows) && name < t.last:
			t.keys[k] = nil // made in order the next time
			return nil, &pgconn.PgError{Severity: "ERROR", Code: "55P03", Message: "a key comes out of order"}
		case errors.Is(err, pgx.ErrNoRows):
			// Somebody who makes the same one now is waited for.
			if _, err = t.Exec(ctx, `INSERT INTO keys (key) VALUES ($1) ON CONFLICT DO NOTHING`, name); err == nil {
				continue
			}
			return nil, err
		case err != nil:
			t.keys[k] = nil // locked first the next time
			return nil, err
		}
		t.keys[k], t.last = r, max(t.last, name)
		return r, nil
	}
}

// kind locks the records of a kind.
func (t *tx) kind(ctx context.Context, kind string) error {
	if t.kinds[kind] {
		return nil
	}
	t.kinds[kind] = true
	_, err := t.Exec(ctx, `SELECT pg_advisory_xact_lock($1, hashtext($2))`, lockClass, kind)
	return err
}

// lockClass is the first number of our advisory locks ("DRAG").
const lockClass = 0x44524147

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
}

var _ querier = (*pgxpool.Pool)(nil)

// all collects what scan makes of each row of a query.
func all[T any](ctx context.Context, q querier, scan func(pgx.CollectableRow) (T, error), query string, args ...any) ([]T, error) {
	list, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(list, scan)
}

// one is all for a query with one row. Errors: pgx.ErrNoRows.
func one[T any](ctx context.Context, q querier, scan func(pgx.CollectableRow) (T, error), query string, args ...any) (T, error) {
	list, err := q.Query(ctx, query, args...)
	if err != nil {
		var none T
		return none, err
	}
	return pgx.CollectOneRow(list, scan)
}

// value reads one value.
func value[T any](ctx context.Context, q querier, query string, args ...any) (T, error) {
	return one(ctx, q, pgx.RowTo[T], query, args...)
}

package postgres

import (
	"context"
	"errors"
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

// PostgreSQL ends a transaction that nobody goes on with: a node that was frozen
// would hold the locks of its keys until it wakes.
const (
	leastIdle = 5 * time.Second // a busy machine may pause
	anyIdle   = `SET LOCAL idle_in_transaction_session_timeout = 0`
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

// tx is one try of a change. What it sends waits in a batch, as does that it
// begins and commits, until something has to be known.
type tx struct {
	conn  *pgxpool.Conn
	b     *backend
	keys  map[channels.Key]*keyRow // locked
	last  string                   // the highest of them
	kinds map[string]bool          // locked kinds of records
	batch pgx.Batch
	size  int // of the messages in it
	// unmarked is a hash of which it is known that there is no mark.
	unmarked string
	// What the statements of the batch came to, once it was sent: the first moment
	// in the future at which a key has something to do, and whether River has a
	// new job.
	due   time.Time
	woken bool
	saved map[channels.Key]int64 // the versions of the rows that it changed
	// known, if not nil, is all that may be read: see guess.
	known *known
	// run is where it may claim keys that it wakes, and claims are those.
	run    *running
	claims []*claim
}

// Update runs a step: see rows.Backend. Its keys are locked as it reads them. A
// key that comes out of order is locked only if that takes no waiting; else the
// step is run again, and all keys that it has asked for are locked in order
// first. Thus two steps never wait for each other in a circle.
//
// If this node stood still for so long that others took over its work, Update returns
// an error although the change is committed: the caller may be about to send something.
func (b *backend) Update(ctx context.Context, keys []channels.Key, f func(rows.Reader) (rows.Changes, error)) (err error) {
	defer func() {
		if err == nil && b.node.renewed.Load() != nil && b.stale() {
			err = errLost
		}
	}()
	if len(keys) == 1 {
		if done, err := b.guess(ctx, keys[0], f); done {
			return err
		}
	}
	return b.change(ctx, keys, func(ctx context.Context, t *tx) (after func(), err error) {
		changes, err := guard(func() (rows.Changes, error) { return f(reader{t, t}) })
		if err != nil || changes.Empty() {
			return nil, err
		}
		return func() { b.changed(t, changes.Fenced, t.due) }, t.apply(ctx, changes)
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
	t := &tx{conn: conn, b: b, keys: map[channels.Key]*keyRow{}, kinds: map[string]bool{}, saved: map[channels.Key]int64{}}
	t.queue(`BEGIN`)
	defer t.leave(ctx, want)
	for _, k := range slices.SortedFunc(maps.Keys(want), compareKeys) {
		if _, err := t.key(ctx, k); err != nil {
			return err
		}
	}
	after, err := f(ctx, t)
	if err == nil && after != nil {
		err = t.commit(ctx)
	}
	if err != nil || after == nil {
		return err
	}
	if t.woken {
		b.nudge(ctx, conn)
	}
	after()
	for _, c := range t.claims {
		t.run.own.Go(func() { _ = t.run.work(c.job, c) })
	}
	t.claims = nil
	return nil
}

// commit sends what is left, and that it is to last.
func (t *tx) commit(ctx context.Context) error {
	if t.b.fault != nil {
		if err := errors.Join(t.flush(ctx), t.b.fault()); err != nil {
			return err
		}
	}
	t.queue(`COMMIT`).Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != `COMMIT` {
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
	return t.flush(ctx)
}

// leave ends what was not committed, and notes which keys it asked for.
func (t *tx) leave(ctx context.Context, want map[channels.Key]bool) {
	for k := range t.keys {
		want[k] = true
	}
	if t.conn.Conn().PgConn().TxStatus() != 'I' {
		_, _ = t.conn.Exec(ctx, `ROLLBACK`) // or the pool ends the connection
	}
	for _, c := range t.claims {
		t.b.forget(c)
	}
	if t.run != nil {
		t.run.own.Done()
	}
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
		r, err := ask(ctx, t, scanKey, `SELECT `+keyColumns+` FROM keys WHERE key = $1`+lock, name)
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

// Query and Exec send what waits first.
func (t *tx) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	return t.conn.Query(ctx, query, args...)
}

func (t *tx) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	if err := t.flush(ctx); err != nil {
		return pgconn.CommandTag{}, err
	}
	return t.conn.Exec(ctx, query, args...)
}

// gather adds a query to the batch, whose rows go into list.
func gather[T any](t *tx, list *[]T, scan func(pgx.CollectableRow) (T, error), query string, args ...any) {
	t.queue(query, args...).Query(func(got pgx.Rows) (err error) {
		*list, err = pgx.CollectRows(got, scan)
		return err
	})
}

// ask is one that goes with what waits.
func ask[T any](ctx context.Context, t *tx, scan func(pgx.CollectableRow) (T, error), query string, args ...any) (v T, err error) {
	var list []T
	gather(t, &list, scan, query, args...)
	if err = t.flush(ctx); err == nil && len(list) == 0 {
		err = pgx.ErrNoRows
	}
	if err == nil {
		v = list[0]
	}
	return v, err
}

// lockClass is the first number of our advisory locks ("DRAG").
const lockClass = 0x44524147

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

// connection is one beside those of the pool. Whoever asks for it closes it.
func (b *backend) connection(ctx context.Context) (*pgx.Conn, error) {
	c := b.pool.Config()
	conn, err := pgx.ConnectConfig(ctx, c.ConnConfig)
	if err == nil {
		if err = c.AfterConnect(ctx, conn); err != nil {
			_ = conn.Close(ctx)
		}
	}
	return conn, err
}

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

package postgres

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"dragoman/channels"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

const (
	// maxTries bounds how often a step runs. A step that fails so often does not
	// fail because of a race.
	maxTries = 30
	// txTimeout bounds a transaction. Large imports take minutes.
	txTimeout = 15 * time.Minute
	// maxBatch is how many statements are sent at once.
	maxBatch = 500
)

// PostgreSQL ends an idle transaction; otherwise a frozen node would hold the locks
// of its keys until it wakes.
const (
	minIdleTimeout = 5 * time.Second // a busy machine may pause
	noIdleTimeout  = `SET LOCAL idle_in_transaction_session_timeout = 0`
)

// retryable reports whether a transaction failed because of a concurrent one, so that
// another try may succeed.
func retryable(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case "40001", "40P01", // serialization failure, deadlock
		"55P03", // a lock out of order is not free
		"23505": // another transaction stored the same message, delivery or generation first
		return true
	}
	return false
}

// keyRow is the row of a key as its transaction read it under the lock.
type keyRow struct {
	id                   int64
	known, gone          bool
	head                 rows.Head
	version, rest        int64
	wake, live, failures int64
	due                  *int64
	node                 string
}

// tx is one try of a change. Its statements, BEGIN and COMMIT included, wait in a
// batch until a result is needed.
type tx struct {
	conn  *pgxpool.Conn
	b     *backend
	keys  map[channels.Key]*keyRow // locked
	last  string                   // the highest of them
	kinds map[string]bool          // locked kinds of records
	// owners are the kinds and owners whose notes are locked.
	owners map[[2]string]bool
	batch  pgx.Batch
	size   int // of the messages in it
	// unmarked is a hash that has no mark, as Accepted found out.
	unmarked string
	// The statements of the batch set these once it was sent: the next time in the
	// future at which a key has work, and whether River has a new job.
	due      time.Time
	woken    bool
	versions map[channels.Key]int64 // of the rows that it changed
	// cache, if not nil, has all that the step may read: see tryUnlocked.
	cache *keyCache
	// run, if not nil, lets it claim the keys that it wakes; claims are those.
	run    *running
	claims []*claim
	// number, if not 0, is the one of numbersDay that it took: see numbers. counts: the step
	// must count itself. Nil: it cannot take one.
	number     int64
	numbersDay string
	counts     *bool
}

// Update runs a step: see rows.Backend. It locks each key when the step reads it. If
// a key comes out of order and its lock is not free, the step runs again with all its
// keys locked in order first. So two steps never deadlock.
//
// If this node was frozen for so long that others took over its work, Update returns
// an error although the change is committed: the caller may be about to send something.
func (b *backend) Update(ctx context.Context, keys []channels.Key, f func(rows.Reader) (rows.Changes, error)) (err error) {
	defer func() {
		err = b.explainFull(err)
		if err == nil && b.node.renewed.Load() != nil && b.stale() {
			err = errLost
		}
	}()
	if len(keys) == 1 {
		if done, err := b.tryUnlocked(ctx, keys[0], f); done {
			return err
		}
	}
	return b.change(ctx, keys, func(ctx context.Context, t *tx) (after func(), err error) {
		changes, err := guard(func() (rows.Changes, error) { return f(reader{t, t}) })
		if err != nil || changes.Empty() {
			return nil, err
		}
		return func() { b.committed(t, changes.Fenced, t.due) }, t.apply(ctx, changes)
	})
}

// explainFull is explain for the error of a full disk, and leaves others as they are.
func (b *backend) explainFull(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "53100" {
		return b.explain(err)
	}
	return err
}

// change commits what f does, in one transaction, and then calls after. If after is
// nil it commits nothing. It runs f again if the transaction conflicts with another.
func (b *backend) change(ctx context.Context, keys []channels.Key, f func(context.Context, *tx) (after func(), err error)) error {
	want := map[channels.Key]bool{}
	for _, k := range keys {
		if !k.IsZero() {
			want[k] = true
		}
	}
	counts := false
	for try := 1; ; try++ {
		err := b.try(ctx, want, &counts, f)
		if !retryable(err) || try == maxTries {
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

// guard turns a panic of f into an error.
func guard[T any](f func() (T, error)) (v T, err error) {
	defer rules.Recover(&err)
	return f()
}

func (b *backend) try(ctx context.Context, want map[channels.Key]bool, counts *bool, f func(context.Context, *tx) (func(), error)) error {
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	// The caller can no longer cancel: a canceled commit may have happened.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), txTimeout)
	defer cancel()
	t := &tx{conn: conn, b: b, keys: map[channels.Key]*keyRow{}, kinds: map[string]bool{}, owners: map[[2]string]bool{}, versions: map[channels.Key]int64{}, counts: counts}
	t.queue(`BEGIN`)
	defer t.finish(ctx, want)
	for _, k := range slices.SortedFunc(maps.Keys(want), compareKeys) {
		if _, err := t.lockKey(ctx, k); err != nil {
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
		t.run.local.Go(func() { _ = t.run.work(c.job, c) })
	}
	t.claims = nil
	return nil
}

// commit sends the rest of the batch and COMMIT.
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

// finish rolls back an uncommitted transaction, and adds its keys to want.
func (t *tx) finish(ctx context.Context, want map[channels.Key]bool) {
	for k := range t.keys {
		want[k] = true
	}
	if t.conn.Conn().PgConn().TxStatus() != 'I' {
		_, _ = t.conn.Exec(ctx, `ROLLBACK`) // if this fails the pool closes the connection
	}
	for _, c := range t.claims {
		t.b.dropClaim(c)
	}
	if t.run != nil {
		t.run.local.Done()
	}
}

func compareKeys(a, b channels.Key) int { return strings.Compare(a.String(), b.String()) }

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
	head := rows.Conversation(c)
	r.head.Conversation = &head
	return r, err
}

// lockKey locks k and reads its row. It inserts a row that is not known if there is
// none.
func (t *tx) lockKey(ctx context.Context, k channels.Key) (*keyRow, error) {
	if r := t.keys[k]; r != nil {
		return r, nil
	}
	name := k.String()
	lock := ` FOR UPDATE`
	if name < t.last {
		lock = ` FOR UPDATE NOWAIT`
	}
	for {
		r, err := batchOne(ctx, t, scanKey, `SELECT `+keyColumns+` FROM keys WHERE key = $1`+lock, name)
		switch {
		case errors.Is(err, pgx.ErrNoRows) && name < t.last:
			t.keys[k] = nil // inserted in order by the next try
			return nil, &pgconn.PgError{Severity: "ERROR", Code: "55P03", Message: "a key comes out of order"}
		case errors.Is(err, pgx.ErrNoRows):
			// This waits for a transaction that inserts the same row.
			if _, err = t.Exec(ctx, `INSERT INTO keys (key) VALUES ($1) ON CONFLICT DO NOTHING`, name); err == nil {
				continue
			}
			return nil, err
		case err != nil:
			t.keys[k] = nil // locked first by the next try
			return nil, err
		}
		t.keys[k], t.last = r, max(t.last, name)
		return r, nil
	}
}

// Query sends the batch first, as does Exec.
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

// batchAll adds a query to the batch. Its rows go into list.
func batchAll[T any](t *tx, list *[]T, scan func(pgx.CollectableRow) (T, error), query string, args ...any) {
	t.queue(query, args...).Query(func(got pgx.Rows) (err error) {
		*list, err = pgx.CollectRows(got, scan)
		return err
	})
}

// batchOne is [one], sent with the batch.
func batchOne[T any](ctx context.Context, t *tx, scan func(pgx.CollectableRow) (T, error), query string, args ...any) (v T, err error) {
	var list []T
	batchAll(t, &list, scan, query, args...)
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

// connection opens a connection outside the pool. The caller closes it.
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

// all runs a query and scans its rows.
func all[T any](ctx context.Context, q querier, scan func(pgx.CollectableRow) (T, error), query string, args ...any) ([]T, error) {
	list, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(list, scan)
}

// one is [all] for one row. It returns pgx.ErrNoRows if there is none.
func one[T any](ctx context.Context, q querier, scan func(pgx.CollectableRow) (T, error), query string, args ...any) (T, error) {
	list, err := q.Query(ctx, query, args...)
	if err != nil {
		var none T
		return none, err
	}
	return pgx.CollectOneRow(list, scan)
}

// value runs a query that returns one value.
func value[T any](ctx context.Context, q querier, query string, args ...any) (T, error) {
	return one(ctx, q, pgx.RowTo[T], query, args...)
}

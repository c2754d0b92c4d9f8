package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"dragoman/sessions"
)

// Who works on a key that is woken. Whichever node asks River first gets all jobs
// that there are, and of idle nodes that is always the same one. So the node that
// wakes a key picks one at random. If it is itself, it claims the key in the same
// transaction, and River hears nothing of it. Else there is a job, and the other
// is told to ask for it. All others ask now and then, so that nothing waits for a
// node that does not answer.

const (
	// pollEvery is how often River asks for jobs without being told.
	pollEvery = 200 * time.Millisecond
	// nudgeEvery is how often one node is told at most: PostgreSQL has one lock
	// for all commits that notify.
	nudgeEvery = 100 * time.Millisecond
)

// spread is what a node knows of those that take turns.
type spread struct {
	takers []string
	nudged map[string]time.Time // when each was last told of jobs
}

// findTakers looks who takes turns.
func (b *backend) findTakers(ctx context.Context) error {
	list, err := all(ctx, b.pool, pgx.RowTo[string], `SELECT id FROM nodes WHERE expires > clock_timestamp() AND (roles = '{}' OR 'turns' = ANY(roles))`)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.spread.takers = list
	}
	return err
}

// Leave implements [sessions.Peers].
func (s *Store) Leave(ctx context.Context) error {
	b := s.b
	if _, err := b.pool.Exec(ctx, `UPDATE nodes SET roles = $2 WHERE id = $1`, b.id, []string{sessions.Leaving}); err != nil {
		return fmt.Errorf("postgres: leave: %w", err)
	}
	b.mu.Lock()
	if b.run != nil {
		close(b.run.left)
	}
	b.mu.Unlock()
	return b.findTakers(ctx)
}

// enter reserves a place in this node's Run for keys that a transaction wakes, if
// it is this node's turn. Whoever gets one leaves it, after he has begun to work.
func (b *backend) enter() *running {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, run := &b.spread, b.run
	if run == nil || run.over || run.ctx.Err() != nil || len(b.claims) >= workers || !slices.Contains(s.takers, b.id) || rand.IntN(len(s.takers)) > 0 {
		return nil
	}
	run.own.Add(1)
	return run
}

// begun is a claim that a transaction made together with the wake-up.
type begun struct {
	job  wakeUp
	mine *claim
	ctx  context.Context //nolint:containedctx // of the handler
}

// start begins to work on a key that was claimed when it was woken.
func (r *running) start(c begun) { r.own.Go(func() { _ = r.work(c.job, c.mine, c.ctx) }) }

// nudge tells another node that River has jobs.
func (b *backend) nudge(ctx context.Context, conn *pgxpool.Conn) {
	b.mu.Lock()
	list := slices.DeleteFunc(slices.Clone(b.spread.takers), func(id string) bool { return id == b.id })
	to, now := b.everybody(), time.Now()
	if len(list) > 0 {
		to = channelOf(list[rand.IntN(len(list))])
	}
	quick := now.Sub(b.spread.nudged[to]) < nudgeEvery
	if !quick {
		b.spread.nudged[to] = now
	}
	b.mu.Unlock()
	if !quick {
		_, _ = conn.Exec(ctx, tellQuery, to, b.note(isJobs).parts(nil))
	}
}

// driver is River's, but for the way in which this node is told of jobs: it has an
// ear already.
type driver struct {
	*riverpgxv5.Driver
	nudges chan struct{}
}

// GetListener is riverdriver.Driver's.
func (d driver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return listener(d.nudges)
}

// listener hears of jobs, and nothing else.
type listener chan struct{}

var _ riverdriver.Listener = listener(nil)

// WaitForNotification is riverdriver.Listener's, as are those that do nothing.
func (l listener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	select {
	case <-l:
		return &riverdriver.Notification{Topic: "river_insert", Payload: `{"queue": "default"}`}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (listener) Close(context.Context) error            { return nil }
func (listener) Connect(context.Context) error          { return nil }
func (listener) Listen(context.Context, string) error   { return nil }
func (listener) Ping(context.Context) error             { return nil }
func (listener) Schema() string                         { return "" }
func (listener) SetAfterConnectExec(string)             {}
func (listener) Unlisten(context.Context, string) error { return nil }

package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"dragoman/sessions"
)

// Who works on a key that is woken. Whichever node asks River first gets all jobs
// that there are, and of idle nodes that is always the same one. So the node that
// wakes a key, which mostly holds its channel, too, says who it is. If it is itself,
// it claims the key in the same transaction, and River hears nothing of it: that costs
// least. If it works on many more keys than another, there is a job, and that one
// is told to ask for it. All others ask now and then, so that nothing waits for a
// node that does not answer.

const (
	// pollEvery is how often River asks for jobs without being told.
	pollEvery = 200 * time.Millisecond
	// nudgeEvery is how often one node is told at most: PostgreSQL has one lock
	// for all commits that notify.
	nudgeEvery = 100 * time.Millisecond
	// keeps is how many keys a node works on before it looks at what others have.
	keeps = 16
)

// spread is what a node knows of those that take turns.
type spread struct {
	takes  bool                 // this one does
	others []*taker             // that live
	nudged map[string]time.Time // when each was last told of jobs
}

// taker is another node, and how many keys it works on: as many as it had when
// somebody looked, and those that it was given since.
type taker struct {
	ID   string
	Keys int
}

// findTakers looks who takes turns.
func (b *backend) findTakers(ctx context.Context) error {
	list, err := all(ctx, b.pool, pgx.RowToAddrOfStructByPos[taker], `SELECT id, (SELECT count(*) FROM keys WHERE node = n.id) FROM nodes n
		WHERE expires > clock_timestamp() AND (roles = '{}' OR 'turns' = ANY(roles)) ORDER BY random()`)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.spread.others = slices.DeleteFunc(list, func(n *taker) bool { return n.ID == b.id })
		b.spread.takes = len(b.spread.others) < len(list)
	}
	return err
}

// idlest is the other node that has least to do; nil: there is none. The caller holds
// the lock.
func (s *spread) idlest() *taker {
	if len(s.others) == 0 {
		return nil
	}
	return slices.MinFunc(s.others, func(a, b *taker) int { return a.Keys - b.Keys })
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
// they are for this node. Whoever gets one leaves it, after he has begun to work.
func (b *backend) enter() *running {
	b.mu.Lock()
	defer b.mu.Unlock()
	run, mine := b.run, len(b.claims)
	if run == nil || run.over || run.ctx.Err() != nil || mine >= workers || !b.spread.takes {
		return nil
	}
	if other := b.spread.idlest(); other != nil && mine >= keeps+2*other.Keys {
		return nil
	}
	run.own.Add(1)
	return run
}

// nudge tells another node that River has jobs.
func (b *backend) nudge(ctx context.Context, conn *pgxpool.Conn) {
	b.mu.Lock()
	to, now := b.everybody(), time.Now()
	if other := b.spread.idlest(); other != nil {
		other.Keys++
		to = channelOf(other.ID)
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

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

// Which node works on a woken key? The first node that asks River gets all jobs, and
// among idle nodes that is always the same one. So the node that wakes a key decides;
// usually it also holds the key's channel. If it keeps the key, it claims it in the
// same transaction, without a River job. That is the cheapest way. If it works on many
// more keys than another node, it makes a job and nudges that node to fetch it. All
// nodes also poll, so a job never depends on the nudged node.

const (
	// pollEvery is how often River polls for jobs.
	pollEvery = 200 * time.Millisecond
	// nudgeEvery is the shortest time between two nudges of a node. PostgreSQL has
	// one lock for all commits that notify.
	nudgeEvery = 100 * time.Millisecond
	// keepAlways is how many keys a node works on before the load of others counts.
	keepAlways = 16
)

// spread is what this node knows about the nodes that answer messages.
type spread struct {
	answers bool                 // this node is one of them
	others  []*load              // the other ones that live
	nudged  map[string]time.Time // when each was last nudged, by its id; "": all of them
}

// load is how many keys another node works on: those that it had at the last
// refreshPeers, and one for each nudge since.
type load struct {
	ID   string
	Keys int
}

// refreshPeers reads which nodes answer messages, and their load.
func (b *backend) refreshPeers(ctx context.Context) error {
	if err := b.lookForFormer(ctx); err != nil {
		return err
	}
	list, err := all(ctx, b.pool, pgx.RowToAddrOfStructByPos[load], `SELECT id, (SELECT count(*) FROM keys WHERE node = n.id AND node <> '') FROM nodes n
		WHERE expires > clock_timestamp() AND (roles = '{}' OR 'turns' = ANY(roles)) ORDER BY random()`)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.spread.others = slices.DeleteFunc(list, func(n *load) bool { return n.ID == b.id })
		b.spread.answers = len(b.spread.others) < len(list)
	}
	return err
}

// idlest returns the other node with the fewest keys; nil: there is none. The caller
// holds backend.mu.
func (s *spread) idlest() *load {
	if len(s.others) == 0 {
		return nil
	}
	return slices.MinFunc(s.others, func(a, b *load) int { return a.Keys - b.Keys })
}

// Leave implements [sessions.Peers].
func (b *backend) Leave(ctx context.Context) error {
	if _, err := b.pool.Exec(ctx, `UPDATE nodes SET roles = $2 WHERE id = $1`, b.id, []string{sessions.Leaving}); err != nil {
		return fmt.Errorf("postgres: leave: %w", err)
	}
	b.mu.Lock()
	if b.run != nil {
		close(b.run.left)
	}
	b.mu.Unlock()
	return b.refreshPeers(ctx)
}

// reserve returns this node's Run if a transaction may claim the keys that it wakes for
// this node, else nil. Run does not return before the caller calls local.Done.
func (b *backend) reserve() *running {
	b.mu.Lock()
	defer b.mu.Unlock()
	run, mine := b.run, len(b.claims)
	if run == nil || run.closed || run.ctx.Err() != nil || mine >= workers || !b.spread.answers {
		return nil
	}
	if other := b.spread.idlest(); other != nil && mine >= keepAlways+2*other.Keys {
		return nil
	}
	run.local.Add(1)
	return run
}

// nudge makes the idlest other node fetch jobs, or all nodes if no other is known.
func (b *backend) nudge(ctx context.Context, conn *pgxpool.Conn) {
	b.mu.Lock()
	to, now := "", time.Now()
	if other := b.spread.idlest(); other != nil {
		other.Keys++
		to = other.ID
	}
	tooSoon := now.Sub(b.spread.nudged[to]) < nudgeEvery
	if !tooSoon {
		b.spread.nudged[to] = now
	}
	b.mu.Unlock()
	if tooSoon {
		return
	}
	l := b.lettersToAll(b.note(isJobs), nil)
	if to != "" {
		l = b.lettersTo(to, b.note(isJobs), nil)
	}
	_, _ = conn.Exec(ctx, notifyNowQuery, l.channels, l.payloads)
}

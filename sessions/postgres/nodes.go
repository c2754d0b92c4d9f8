package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
)

// node is this process among those that share the database.
type node struct {
	mu      sync.Mutex
	joined  bool
	stop    context.CancelFunc
	renewal sync.WaitGroup
	lost    context.Context //nolint:containedctx // it ends when this node may not work any more
	lose    context.CancelFunc
	renewed atomic.Pointer[time.Time]
}

// join makes this process a node, once. What was left by one before it in the
// same place is taken over at once.
func (b *backend) join(ctx context.Context) (err error) {
	n := &b.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.joined {
		return nil
	}
	ear, err := b.ear(ctx) // before others can call this node
	if err != nil {
		return err
	}
	defer func() {
		if !n.joined {
			_ = ear.Close(ctx)
		}
	}()
	if _, err = b.pool.Exec(ctx, `INSERT INTO nodes (id, host, version, roles, expires) VALUES ($1, $2, $3, $4, clock_timestamp() + $5)`, b.id, b.host, b.version, b.roles, b.ttl); err != nil {
		return err
	}
	if _, err = b.pool.Exec(ctx, `UPDATE nodes SET expires = '-infinity' WHERE host = $1 AND id <> $2`, b.host, b.id); err != nil {
		return err
	}
	if err = b.takeOver(ctx); err != nil {
		return err
	}
	n.joined = true
	now := time.Now()
	n.renewed.Store(&now)
	ctx, n.stop = context.WithCancel(context.WithoutCancel(ctx))
	n.renewal.Go(func() { b.live(ctx, ear) })
	n.renewal.Go(func() { b.watch(ctx) })
	return nil
}

// Busy reports whether a process works on the database now.
func (s *Store) Busy(ctx context.Context) (bool, error) {
	return value[bool](ctx, s.b.pool, `SELECT EXISTS (SELECT 1 FROM nodes WHERE expires > clock_timestamp())`)
}

// leave ends what join began. Others may go on at once.
func (b *backend) leave() {
	n := &b.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.joined {
		return
	}
	n.joined = false
	n.stop()
	n.renewal.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), b.ttl)
	defer cancel()
	// If this fails the node is dead when its time is over.
	_, _ = b.pool.Exec(ctx, `UPDATE nodes SET expires = '-infinity' WHERE id = $1`, b.id)
	_ = b.takeOver(ctx)
}

// live keeps this node alive and does what others tell it, until ctx ends or the node is
// lost: on a connection of its own, since those of the pool may all be in use or
// broken. It gives up well before its peers take over from it.
func (b *backend) live(ctx context.Context, conn *pgx.Conn) {
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	defer b.wire.deaf()
	b.wire.hears()
	failing := false
	for renewed, pause := time.Now(), b.ttl/4; ; {
		if conn.IsClosed() {
			channels.Sleep(ctx, pause)
		} else {
			b.hearAll(ctx, conn, pause)
		}
		began := time.Now()
		bound, cancel := context.WithTimeout(ctx, min(b.ttl/4, max(b.grace()-time.Since(renewed), b.ttl/12)))
		alive, err := b.renew(bound, &conn)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && alive:
			renewed, pause, failing = began, b.ttl/4, false
			b.node.renewed.Store(&began)
			continue
		case err != nil && time.Since(renewed) < b.grace():
			if !failing {
				b.log.Warn("could not renew this node; trying again", "err", b.explain(err))
			}
			failing, pause = true, b.ttl/20
			continue
		case err == nil:
			b.log.Error("the other nodes have taken this one for dead, so it stops", "silent for", time.Since(renewed).Round(time.Millisecond))
		default:
			b.log.Error("the database could not be reached in time, so this node stops before others take over its work", "for", time.Since(renewed).Round(time.Millisecond), "err", b.explain(err))
		}
		b.node.lose()
		return
	}
}

// grace is how long a node works that cannot renew its row.
func (b *backend) grace() time.Duration { return b.ttl * 6 / 10 }

// renew reports whether this node is believed to live. A connection that is broken is
// replaced: what others said meanwhile is lost, so every claim of this node may have
// changed.
func (b *backend) renew(ctx context.Context, conn **pgx.Conn) (alive bool, err error) {
	if (*conn).IsClosed() {
		b.wire.deaf()
		fresh, err := b.ear(ctx)
		if err != nil {
			return false, err
		}
		*conn = fresh
		b.wire.hears()
		for _, k := range b.claimed() {
			b.changedElsewhere(k)
		}
	}
	tag, err := (*conn).Exec(ctx, `UPDATE nodes SET expires = clock_timestamp() + $2 WHERE id = $1 AND expires > clock_timestamp()`, b.id, b.ttl)
	return err == nil && tag.RowsAffected() > 0, err
}

// stale reports whether this process has not renewed its node for so long that
// others do not believe in it, as when it was frozen.
func (b *backend) stale() bool {
	renewed := b.node.renewed.Load()
	return renewed == nil || time.Since(*renewed) > b.ttl
}

// watch looks after the nodes, until ctx ends.
func (b *backend) watch(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.node.lost.Done():
			return
		case <-timer.C:
		}
		err := errors.Join(b.takeOver(ctx), b.findTakers(ctx))
		if err != nil && ctx.Err() == nil {
			b.log.Warn("could not check the other nodes; will try again", "err", b.explain(err))
		}
		timer.Reset(b.untilDead(ctx, `SELECT min(expires) - clock_timestamp() FROM nodes WHERE id <> $1`, b.id))
	}
}

// untilDead is how long to wait until a node may be dead, by a query that says how
// long it still lives.
func (b *backend) untilDead(ctx context.Context, query string, arg any) time.Duration {
	bound, cancel := context.WithTimeout(ctx, b.ttl/4)
	defer cancel()
	left, err := value[*time.Duration](bound, b.pool, query, arg)
	if err != nil || left == nil {
		return b.ttl / 4
	}
	return min(max(*left, 0)+10*time.Millisecond, b.ttl/4)
}

// takeOver hands out again what nodes were at that are dead: keys that they had
// claimed, jobs that they had taken and not begun, leases. So it does with jobs
// and keys that this node took without hearing of it, because the connection broke.
// River has no call for that; this is the one place where its table is written by hand.
func (b *backend) takeOver(ctx context.Context) error {
	at, unheard, err := b.unheardOf(ctx)
	if err != nil {
		return err
	}
	return b.change(ctx, nil, func(ctx context.Context, t *tx) (func(), error) {
		dead, err := all(ctx, t, pgx.RowTo[string], `DELETE FROM nodes WHERE expires <= clock_timestamp() RETURNING CASE WHEN isfinite(expires) THEN host ELSE '' END`)
		if err != nil {
			return nil, err
		}
		ids, err := all(ctx, t, pgx.RowTo[int64], `WITH gone AS (UPDATE river_job SET state = 'cancelled', finalized_at = clock_timestamp()
			WHERE state = 'running' AND kind = $1 AND (attempted_by[array_upper(attempted_by, 1)] NOT IN (SELECT id FROM nodes)
				OR attempted_by[array_upper(attempted_by, 1)] = $2 AND (args->>'wake')::bigint <> ALL($3) AND attempted_at < clock_timestamp() - $4::interval)
			RETURNING (args->>'key')::bigint AS key, (args->>'wake')::bigint AS wake)
			SELECT k.id FROM keys k WHERE k.node <> '' AND k.node NOT IN (SELECT id FROM nodes) OR (k.id, k.wake) IN (SELECT key, wake FROM gone) OR k.node = $2 AND k.wake = ANY($5)
			ORDER BY k.key FOR UPDATE OF k`, wakeUp{}.Kind(), b.id, at, b.ttl/4, unheard)
		if err != nil || len(dead) == 0 && len(ids) == 0 {
			return nil, err
		}
		if _, err := t.Exec(ctx, `UPDATE keys SET live = 0, node = '', wake = 0 WHERE id = ANY($1)`, ids); err != nil {
			return nil, err
		}
		_, err = t.Exec(ctx, `DELETE FROM leases WHERE node NOT IN (SELECT id FROM nodes)`)
		return func() {
			for _, host := range slices.DeleteFunc(dead, func(host string) bool { return host == "" }) { // it has left
				b.log.Warn("a node is dead or cannot reach the database; others take over its work", "node", host)
			}
			if len(ids) > 0 {
				b.log.Info("took over conversations that nobody works on", "conversations", len(ids))
			}
			b.changed(t, nil, b.now())
		}, err
	})
}

// unheardOf returns the wake-ups that this node is at, and those that the rows say
// are its own of which it has known nothing for a while: the commit that made the claim
// was done, and its connection broke.
func (b *backend) unheardOf(ctx context.Context) (at, unheard []int64, err error) {
	b.mu.Lock()
	at = slices.AppendSeq([]int64{}, maps.Keys(b.at)) // not NULL
	b.mu.Unlock()
	list, err := all(ctx, b.pool, pgx.RowTo[int64], `SELECT wake FROM keys WHERE node = $1 AND wake <> ALL($2)`, b.id, at)
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.doubted
	b.doubted = map[int64]time.Time{}
	for _, wake := range list {
		since, again := before[wake]
		if !again {
			since = time.Now()
		}
		if b.doubted[wake] = since; time.Since(since) > b.ttl/4 {
			unheard = append(unheard, wake)
		}
	}
	return at, unheard, err
}

// Hold is sessions.Leases's. A lease lasts as long as its node lives.
func (b *backend) Hold(ctx context.Context, name string, run func(context.Context) error) error {
	if err := b.join(ctx); err != nil {
		return err
	}
	return b.leases.Hold(ctx, name, func(ctx context.Context) error {
		if err := b.lease(ctx, name); err != nil {
			return err
		}
		held, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(b.node.lost, func() { cancel(errLost) })()
		err := run(held)
		let, done := context.WithTimeout(context.WithoutCancel(ctx), b.ttl)
		defer done()
		// If this fails the lease lasts until the node is dead.
		if _, gone := b.pool.Exec(let, `DELETE FROM leases WHERE name = $1 AND node = $2`, name, b.id); gone == nil {
			_ = b.tell(b.everybody(), b.note(isFree), nil) // else they find out
		}
		return err
	})
}

// lease waits for the lease called name.
func (b *backend) lease(ctx context.Context, name string) error {
	for {
		b.mu.Lock()
		free := b.free
		b.mu.Unlock()
		tag, err := b.pool.Exec(ctx, `INSERT INTO leases (name, node) SELECT $1, id FROM nodes WHERE id = $2 AND expires > clock_timestamp()
			ON CONFLICT (name) DO UPDATE SET node = excluded.node, since = excluded.since WHERE NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = leases.node AND n.expires > clock_timestamp())`, name, b.id)
		if err == nil && tag.RowsAffected() > 0 {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			b.log.Warn("could not ask for a lease; will try again", "lease", name, "err", b.explain(err))
		}
		pause := b.untilDead(ctx, `SELECT expires - clock_timestamp() FROM leases JOIN nodes ON id = node WHERE name = $1`, name)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-b.node.lost.Done():
			return errors.Join(errLost, err)
		case <-free:
		case <-time.After(pause):
		}
	}
}

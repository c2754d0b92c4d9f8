package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
)

// node is this process as one of those that share the database.
type node struct {
	mu      sync.Mutex
	joined  bool
	stop    context.CancelFunc
	renewal sync.WaitGroup
	lost    context.Context //nolint:containedctx // ends when this node must stop working
	lose    context.CancelFunc
	renewed atomic.Pointer[time.Time]
}

// CopiedError says that a node with the same Installation lives in another place.
type CopiedError struct{ Host string }

func (e *CopiedError) Error() string {
	return fmt.Sprintf("the node %s has the same id and runs in another place: this state directory is a copy of its own. Remove the file node-id from this one, or stop that node", e.Host)
}

// replace ends the row of the process that had the Installation and Place of this one, and
// is dead. A row with another Place may be of a machine that has just been restarted: then
// it expires. If it is renewed instead, replace returns a CopiedError.
func (b *backend) replace(ctx context.Context) error {
	if b.Installation == "" {
		return nil
	}
	if _, err := b.pool.Exec(ctx, `UPDATE nodes SET expires = '-infinity' WHERE installation = $1 AND place = $2 AND id <> $3`, b.Installation, b.Place, b.id); err != nil {
		return err
	}
	first := map[string]time.Time{}
	for {
		list, err := all(ctx, b.pool, pgx.RowToStructByPos[ownRow], `SELECT id, host, expires FROM nodes WHERE installation = $1 AND id <> $2 AND expires > clock_timestamp()`, b.Installation, b.id)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, row := range list {
			before, known := first[row.ID]
			if known && row.Expires.After(before) {
				return &CopiedError{row.Host}
			}
			first[row.ID] = row.Expires
		}
		channels.Sleep(ctx, b.TTL/12)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Configured tells the other nodes, with the next renewal, that the configuration of this
// one has another hash.
func (b *backend) Configured(hash string) { b.configured.Store(&hash) }

// configuration is the hash of this node's configuration, or "".
func (b *backend) configuration() string {
	if hash := b.configured.Load(); hash != nil {
		return *hash
	}
	return b.Configuration
}

// ownRow is the row of a node with the Installation of this one.
type ownRow struct {
	ID, Host string
	Expires  time.Time
}

// join makes this process a node, once. It takes over at once from an earlier process
// of the same Installation and Place.
func (b *backend) join(ctx context.Context) (err error) {
	n := &b.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.joined {
		return nil
	}
	conn, err := b.listen(ctx) // before others can call this node
	if err != nil {
		return err
	}
	defer func() {
		if !n.joined {
			_ = conn.Close(ctx)
		}
	}()
	err = b.replace(ctx)
	if err != nil {
		return err
	}
	if _, err = b.pool.Exec(ctx, `INSERT INTO nodes (id, host, version, roles, installation, place, configuration, labels, sealed, expires) VALUES ($1, $2, $3, $4, $5, $6, $7, true, true, clock_timestamp() + $8)`,
		b.id, b.Host, b.Version, b.Roles, b.Installation, b.Place, b.configuration(), b.TTL); err != nil {
		return err
	}
	if err = b.takeOver(ctx); err != nil {
		return err
	}
	n.joined = true
	now := time.Now()
	n.renewed.Store(&now)
	ctx, n.stop = context.WithCancel(context.WithoutCancel(ctx))
	n.renewal.Go(func() { b.keepAlive(ctx, conn) })
	n.renewal.Go(func() { b.watchPeers(ctx) })
	n.renewal.Go(func() { b.foldLoop(ctx) })
	n.renewal.Go(func() { b.numbersLoop(ctx) })
	return nil
}

// Busy reports whether a process works on the database now.
func (b *backend) Busy(ctx context.Context) (bool, error) {
	return value[bool](ctx, b.pool, `SELECT EXISTS (SELECT 1 FROM nodes WHERE expires > clock_timestamp())`)
}

// leave undoes join. Other nodes take over at once.
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
	ctx, cancel := context.WithTimeout(context.Background(), b.TTL)
	defer cancel()
	// If this fails the node counts as dead when its row expires.
	_, _ = b.pool.Exec(ctx, `UPDATE nodes SET expires = '-infinity' WHERE id = $1`, b.id)
	_ = b.takeOver(ctx)
}

// keepAlive renews this node and handles the notes of others, until ctx ends or the
// node is lost. It uses a connection outside the pool, whose connections may all be in
// use or broken. It gives up well before peers take over from this node.
func (b *backend) keepAlive(ctx context.Context, conn *pgx.Conn) {
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	defer b.wire.down()
	b.wire.up()
	failing := false
	for renewed, pause := time.Now(), b.TTL/4; ; {
		if conn.IsClosed() {
			channels.Sleep(ctx, pause)
		} else {
			b.receive(ctx, conn, pause)
		}
		began := time.Now()
		bound, cancel := context.WithTimeout(ctx, min(b.TTL/4, max(b.grace()-time.Since(renewed), b.TTL/12)))
		alive, err := b.renew(bound, &conn)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && alive:
			renewed = began
			pause = b.TTL / 4
			failing = false
			b.node.renewed.Store(&began)
			continue
		case err != nil && time.Since(renewed) < b.grace():
			if !failing {
				b.Logger.Warn("could not renew this node; trying again", "err", b.explain(err))
			}
			failing, pause = true, b.TTL/20
			continue
		case err == nil:
			b.Logger.Error("the other nodes consider this one dead, so it stops", "silent for", time.Since(renewed).Round(time.Millisecond))
		default:
			b.Logger.Error("the database could not be reached in time, so this node stops before others take over its work", "for", time.Since(renewed).Round(time.Millisecond), "err", b.explain(err))
		}
		b.node.lose()
		return
	}
}

// grace is how long a node goes on working after its last renewal.
func (b *backend) grace() time.Duration { return b.TTL * 6 / 10 }

// renew renews this node's row. alive is false if peers count it as dead. It replaces a
// broken connection. The notes sent meanwhile are lost, so the handler must check
// every claim of this node again.
func (b *backend) renew(ctx context.Context, conn **pgx.Conn) (alive bool, err error) {
	if (*conn).IsClosed() {
		b.wire.down()
		fresh, err := b.listen(ctx)
		if err != nil {
			return false, err
		}
		*conn = fresh
		b.wire.up()
		b.mu.Lock()
		claimed := slices.Collect(maps.Keys(b.claims))
		b.mu.Unlock()
		for _, k := range claimed {
			b.wire.do(func() { b.startCall(changeOf(k)) })
		}
	}
	b.seal.forget()
	b.wire.do(func() { b.wire.forget(b.TTL) })
	now, err := value[time.Time](ctx, *conn, `UPDATE nodes SET expires = clock_timestamp() + $2, configuration = $3
		WHERE id = $1 AND expires > clock_timestamp() RETURNING clock_timestamp()`, b.id, b.TTL, b.configuration())
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err == nil {
		b.seal.tellTime(now)
	}
	return err == nil, err
}

// stale reports whether this process last renewed its node so long ago that others
// count it as dead, for example because it was frozen.
func (b *backend) stale() bool {
	renewed := b.node.renewed.Load()
	return renewed == nil || time.Since(*renewed) > b.TTL
}

// watchPeers takes over from dead nodes, and keeps the list of peers fresh, until ctx
// ends.
func (b *backend) watchPeers(ctx context.Context) {
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
		err := errors.Join(b.takeOver(ctx), b.refreshPeers(ctx))
		if err != nil && ctx.Err() == nil {
			b.Logger.Warn("could not check the other nodes; will try again", "err", b.explain(err))
		}
		timer.Reset(b.untilDead(ctx, `SELECT min(expires) - clock_timestamp() FROM nodes WHERE id <> $1`, b.id))
	}
}

// untilDead returns how long to wait until a node may be dead. query returns how long
// the node's row is still valid.
func (b *backend) untilDead(ctx context.Context, query string, arg any) time.Duration {
	bound, cancel := context.WithTimeout(ctx, b.TTL/4)
	defer cancel()
	left, err := value[*time.Duration](bound, b.pool, query, arg)
	if err != nil || left == nil {
		return b.TTL / 4
	}
	return min(max(*left, 0)+10*time.Millisecond, b.TTL/4)
}

// takeOver frees the keys, jobs and leases of dead nodes for others. It does the same
// with keys and jobs that this node got without knowing, because a connection broke.
// River has no call for this, so it writes River's table directly.
//
// The statement finds the keys by their indexes, because most keys belong to no node. It
// checks each again on the locked row, which another node may have claimed meanwhile.
func (b *backend) takeOver(ctx context.Context) error {
	working, lost, err := b.lostWakes(ctx)
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
			SELECT k.id FROM keys k WHERE k.id IN (
				SELECT id FROM keys WHERE node <> '' AND node NOT IN (SELECT id FROM nodes)
				UNION SELECT key FROM gone
				UNION SELECT id FROM keys WHERE node = $2 AND node <> '' AND wake = ANY($5))
			AND (k.node <> '' AND k.node NOT IN (SELECT id FROM nodes) OR (k.id, k.wake) IN (SELECT key, wake FROM gone) OR k.node = $2 AND k.wake = ANY($5))
			ORDER BY k.key FOR UPDATE OF k`, wakeUp{}.Kind(), b.id, working, b.TTL/4, lost)
		if err != nil || len(dead) == 0 && len(ids) == 0 {
			return nil, err
		}
		if _, err := t.Exec(ctx, `UPDATE keys SET live = 0, node = '', wake = 0 WHERE id = ANY($1)`, ids); err != nil {
			return nil, err
		}
		_, err = t.Exec(ctx, `DELETE FROM leases WHERE node NOT IN (SELECT id FROM nodes)`)
		return func() {
			for _, host := range dead {
				if host != "" { // "": it left in order
					b.Logger.Warn("a node is dead or cannot reach the database; others take over its work", "node", host)
				}
			}
			if len(ids) > 0 {
				b.Logger.Info("took over conversations that no node works on", "conversations", len(ids))
			}
			b.committed(t, nil, b.Now())
		}, err
	})
}

// lostWakes returns the wake-ups that this node works on, and those that the rows have
// assigned to it for a while without its knowledge: the commit of the claim succeeded,
// but its connection broke.
func (b *backend) lostWakes(ctx context.Context) (working, lost []int64, err error) {
	b.mu.Lock()
	working = slices.AppendSeq([]int64{}, maps.Keys(b.working)) // nil would be NULL
	b.mu.Unlock()
	list, err := all(ctx, b.pool, pgx.RowTo[int64], `SELECT wake FROM keys WHERE node = $1 AND node <> '' AND wake <> ALL($2)`, b.id, working)
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.unknownWakes
	b.unknownWakes = map[int64]time.Time{}
	for _, wake := range list {
		since, again := before[wake]
		if !again {
			since = time.Now()
		}
		b.unknownWakes[wake] = since
		if time.Since(since) > b.TTL/4 {
			lost = append(lost, wake)
		}
	}
	return working, lost, err
}

// Hold holds a lease while this node lives: see rows.Backend.
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
		let, done := context.WithTimeout(context.WithoutCancel(ctx), b.TTL)
		defer done()
		// If this fails the lease lasts until the node is dead.
		if _, failed := b.pool.Exec(let, `DELETE FROM leases WHERE name = $1 AND node = $2`, name, b.id); failed == nil {
			_ = b.notify(b.lettersToAll(b.note(isLeaseFree), nil)) // if this fails the waiting nodes look again later
		}
		return err
	})
}

// lease waits until this node has the lease called name.
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
			b.Logger.Warn("could not ask for a lease; will try again", "lease", name, "err", b.explain(err))
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

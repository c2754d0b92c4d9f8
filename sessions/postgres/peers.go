package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dragoman/channels"
	"dragoman/sessions"
)

var _ sessions.Peers = (*backend)(nil)

// callQuery returns a query that finds the node that to names by its argument $2. If it is
// $3, and former as $4 says, the query sends it the payloads $6. It does not wait for the
// disk.
func callQuery(to sessions.Peer) (query, name string) {
	id := `$2`
	switch {
	case to.Lease != "":
		id, name = `(SELECT node FROM leases WHERE name = $2)`, to.Lease
	case !to.Key.IsZero():
		id, name = `(SELECT node FROM keys WHERE key = $2 AND live <> 0)`, to.Key.String()
	default:
		name = to.Node
	}
	return `SELECT id, NOT sealed, (SELECT count(pg_notify($5, p)) FROM unnest($6::text[]) p WHERE id = $3 AND sealed <> $4)
		FROM nodes, set_config('synchronous_commit', 'off', true) WHERE expires > clock_timestamp() AND id <> $1 AND id = ` + id, name
}

// callee is the node that a call found. sent: it was sent the call.
type callee struct {
	id           string
	former, sent bool
}

// sendCall sends a call to the node that to names. It guesses which one that is, because
// notes are sealed for one node: the last one that it found, and then the one that it finds.
func (b *backend) sendCall(ctx context.Context, to sessions.Peer, n note, args []byte) (found callee, err error) {
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return found, &channels.NotSent{Err: err}
	}
	defer conn.Release()
	query, name := callQuery(to)
	guess := callee{id: to.Node}
	if to.Lease != "" {
		guess = b.lastHolder(to.Lease)
	}
	for range 4 { // it moved meanwhile, or was replaced
		l := letters{}
		if guess.id != "" && (!guess.former || formerMay(&n)) {
			l.add(nodeChannel(guess.id), b.payloadsFor(guess, n, args))
		}
		list, err := all(ctx, conn, func(row pgx.CollectableRow) (c callee, err error) {
			var sent int
			err = row.Scan(&c.id, &c.former, &sent)
			c.sent = sent > 0
			return c, err
		}, query, b.id, name, guess.id, guess.former, nodeChannel(guess.id), l.payloads)
		if err != nil {
			return found, err
		}
		if len(list) == 0 {
			return found, sessions.ErrNoPeer
		}
		found = list[0]
		if to.Lease != "" {
			b.noteHolder(to.Lease, found)
		}
		if found.sent {
			return found, nil
		}
		if found.former && !formerMay(&n) {
			return found, sessions.ErrNoPeer
		}
		guess = found
	}
	return found, sessions.ErrNoPeer
}

// payloadsFor are those of a call for a node.
func (b *backend) payloadsFor(to callee, n note, args []byte) []string {
	if to.former {
		return n.plain(args)
	}
	return b.seal.parts(nodeChannel(to.id), n, args)
}

// Call calls other nodes: see sessions.Peers. The first call makes this process a node.
func (b *backend) Call(ctx context.Context, to sessions.Peer, method string, args []byte) ([]byte, error) {
	if len(args) > sessions.MaxAnswer {
		return nil, fmt.Errorf("postgres: call %s: %d bytes are too many", method, len(args))
	}
	n := b.note(isCall)
	n.ID, n.Method = rand.Text(), method
	if to.All {
		n.Quiet = true
		l := b.lettersToAll(n, args)
		_, err := b.pool.Exec(ctx, notifyNowQuery, l.channels, l.payloads)
		return nil, err
	}
	data, err := b.call(ctx, to, n, args)
	if err != nil {
		return nil, fmt.Errorf("postgres: call %s: %w", method, err)
	}
	return data, nil
}

func (b *backend) call(ctx context.Context, to sessions.Peer, n note, args []byte) ([]byte, error) {
	if err := b.join(ctx); err != nil {
		return nil, err
	}
	if deadline, has := ctx.Deadline(); has {
		n.Left = time.Until(deadline)
	}
	w, a := &b.wire, &pendingCall{answer: make(chan result, 1)}
	var ready chan struct{}
	w.do(func() { ready, w.pending[n.ID] = w.ready, a })
	defer w.do(func() { delete(w.pending, n.ID) })
	select {
	case <-ready: // this node can receive the answer
	case <-ctx.Done():
		return nil, &channels.NotSent{Err: ctx.Err()}
	}
	called, err := b.sendCall(ctx, to, n, args)
	switch {
	case errors.Is(err, sessions.ErrNoPeer):
		return nil, sessions.ErrNoPeer
	case errors.As(err, new(*channels.NotSent)):
		return nil, err
	case errors.As(err, new(*pgconn.PgError)) || pgconn.SafeToRetry(err):
		return nil, &channels.NotSent{Err: err} // nothing was sent
	case err != nil:
		_ = b.notify(b.lettersToAll(b.giveUp(n.ID), nil)) // a node may have received it
		return nil, err
	}
	w.do(func() { a.node = called.id })
	return b.await(ctx, n.ID, a)
}

// await waits for the answer while the other node lives.
func (b *backend) await(ctx context.Context, id string, a *pendingCall) ([]byte, error) {
	ticker := time.NewTicker(b.TTL / 4)
	defer ticker.Stop()
	for {
		select {
		case r := <-a.answer:
			return r.data, r.err
		case <-ctx.Done():
			_ = b.notify(b.lettersTo(a.node, b.giveUp(id), nil))
			return nil, context.Cause(ctx)
		case <-b.node.lost.Done():
			return nil, errLost
		case <-ticker.C:
			lives, err := value[bool](ctx, b.pool, `SELECT EXISTS (SELECT 1 FROM nodes WHERE id = $1 AND expires > clock_timestamp())`, a.node)
			if err == nil && !lives {
				return nil, errors.New("the other node died during the call")
			}
		}
	}
}

// giveUp is the note that tells nodes to stop working on a call.
func (b *backend) giveUp(id string) note {
	n := b.note(isGiveUp)
	n.ID = id
	return n
}

// Serve answers the calls of other nodes: see sessions.Peers. It makes this process a
// node.
func (b *backend) Serve(ctx context.Context, f func(ctx context.Context, method string, args []byte) ([]byte, error)) error {
	if err := b.join(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("postgres: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	w := &b.wire
	w.do(func() {
		w.serve = func(n note) func() {
			ctx, end := context.WithCancel(ctx)
			calls.Go(func() {
				defer end()
				b.answer(ctx, n, f)
			})
			return end
		}
	})
	defer w.do(func() { w.serve = nil })
	select {
	case <-ctx.Done():
		return nil
	case <-b.node.lost.Done():
		return fmt.Errorf("postgres: %w", errLost)
	}
}

// startCall starts the call n of another node. A node that was frozen refuses it, since
// it may be old. The caller holds wire.mu.
func (b *backend) startCall(n note) {
	w := &b.wire
	if n.former && w.formers >= formerCallsMost {
		return
	}
	if n.former {
		w.formers++
	}
	if w.serve == nil || b.stale() || n.former && !formerMay(&n) {
		b.node.renewal.Go(func() {
			defer b.formerEnds(n)
			b.reply(n, nil, sessions.ErrNoPeer)
		})
		return
	}
	w.calls[[2]string{n.From, n.ID}] = w.serve(n)
}

// answer serves one call.
func (b *backend) answer(ctx context.Context, n note, f func(context.Context, string, []byte) ([]byte, error)) {
	defer b.formerEnds(n)
	if n.former {
		ctx = sessions.WithoutSeal(ctx)
	}
	if n.Left > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, n.Left)
		defer end()
	}
	data, err := guard(func() ([]byte, error) { return f(ctx, n.Method, n.Data) })
	b.wire.do(func() { delete(b.wire.calls, [2]string{n.From, n.ID}) })
	if n.Quiet && err != nil {
		b.Logger.Warn("a call of another node failed", "method", n.Method, "err", err)
	}
	b.reply(n, data, err)
}

// formerEnds ends a call of startCall, if it came without a seal.
func (b *backend) formerEnds(n note) {
	if n.former {
		b.wire.do(func() { b.wire.formers-- })
	}
}

// reply sends a caller the result of its call, if it waits for one.
func (b *backend) reply(to note, data []byte, err error) {
	if to.Quiet {
		return
	}
	n := b.note(isAnswer)
	n.ID = to.ID
	if err == nil && len(data) > sessions.MaxAnswer {
		err = fmt.Errorf("the answer has %d bytes, which are too many", len(data))
	}
	if err != nil {
		n.Kind, data = isFailure, encodeError(err)
	}
	if err := b.notify(b.lettersTo(to.From, n, data)); err != nil {
		b.Logger.Warn("cannot answer another node", "method", to.Method, "err", err)
	}
}

// Nodes lists the nodes: see sessions.Peers.
func (b *backend) Nodes(ctx context.Context) ([]sessions.Node, error) {
	list, err := all(ctx, b.pool, func(row pgx.CollectableRow) (n sessions.Node, err error) {
		var lag float64
		var leases string
		err = row.Scan(&n.ID, &n.Host, &n.Version, &n.Roles, &n.Since, &n.Configuration, &lag, &leases, &n.Claims)
		if err == nil {
			err = decode(leases, &n.Leases)
		}
		n.Lag, n.Self = b.TTL+time.Duration(lag*float64(time.Second)), n.ID == b.id
		return n, err
	}, `SELECT id, host, version, roles, since, configuration, extract(epoch FROM clock_timestamp() - expires)::float8,
		(SELECT coalesce(json_agg(json_build_object('name', name, 'since', since) ORDER BY name), '[]')::text FROM leases WHERE node = n.id),
		(SELECT count(*) FROM keys WHERE node = n.id AND node <> '' AND live <> 0)
		FROM nodes n WHERE expires > clock_timestamp() ORDER BY since, id`)
	if err != nil {
		return nil, fmt.Errorf("postgres: nodes: %w", b.explain(err))
	}
	return list, nil
}

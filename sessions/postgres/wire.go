package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// note is a part of what one node tells another, as the JSON of a notification.
// Those of one message are sent in one transaction, so they come in order, and
// nothing between them.
type note struct {
	Kind kind   `json:"k"`
	From string `json:"f"`           // the node that sends it
	ID   string `json:"i,omitempty"` // of the call
	// More is how many parts follow. Of two notifications that are the same
	// PostgreSQL sends one.
	More int `json:"more,omitempty"`
	// Method and Left, the time that the caller waits, are those of a call.
	Method string        `json:"m,omitempty"`
	Left   time.Duration `json:"l,omitempty"`
	Quiet  bool          `json:"q,omitempty"` // nobody waits for an answer
	// Key and Epoch are the claim of a fence.
	Key   channels.Key `json:"key,omitzero"`
	Epoch int64        `json:"e,omitempty"`
	Data  []byte       `json:"d,omitempty"`
}

// kind says what a note is.
type kind string

const (
	isCall    kind = "call"
	isAnswer  kind = "answer"
	isFailure kind = "failure" // the answer to a call that failed
	isGiveUp  kind = "give up" // the caller does not wait any more
	isFence   kind = "fence"   // the claim of Key with Epoch is over
	isJobs    kind = "jobs"    // River has some
	isFree    kind = "free"    // a lease is
	isDeaf    kind = "deaf"    // the sender missed what it was told; calls to it are lost
)

// partMost is how many bytes of data fit into a notification, of which
// PostgreSQL takes 7,999 bytes, beside the rest of a note.
const partMost = 5400

// parts are the payloads of a note with data.
func (n note) parts(data []byte) (list []string) {
	for {
		part := data[:min(len(data), partMost)]
		data = data[len(part):]
		n.Data, n.More = part, (len(data)+partMost-1)/partMost
		list = append(list, encode(n))
		if n.More == 0 {
			return list
		}
	}
}

// channelOf is what the node called id listens on, and everybody that everybody
// on this schema does. The name of a schema may be too long for a part of it.
func channelOf(id string) string { return "dragoman_" + id }

func (b *backend) everybody() string { return channelOf("all_" + rules.Hash(b.schema)[:32]) }

func (b *backend) note(k kind) note { return note{Kind: k, From: b.id} }

// changeOf tells a node that k, which it has claimed, was changed.
func changeOf(k channels.Key) note {
	return note{Kind: isCall, Method: sessions.MethodChanged, Quiet: true, Data: []byte(k.String())}
}

// tellQuery is notifyQuery by itself: no disk is waited for. Nothing of it would be
// left after a crash of the database anyway.
const (
	notifyQuery = `SELECT pg_notify($1, p) FROM unnest($2::text[]) p`
	tellQuery   = `SELECT pg_notify($1, p) FROM unnest($2::text[]) p, set_config('synchronous_commit', 'off', true)`
)

// tell tells one channel something, on which nothing depends.
func (b *backend) tell(channel string, n note, data []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), b.ttl)
	defer cancel()
	_, err := b.pool.Exec(ctx, tellQuery, channel, n.parts(data))
	return err
}

// wire is this node's end of the calls between nodes.
type wire struct {
	mu    sync.Mutex
	ready chan struct{}           // closed while this node listens
	asked map[string]*asked       // calls of this node, by id
	parts map[[2]string][]byte    // of what has come in part, by sender and id
	calls map[[2]string]func()    // of others: each ends its context
	serve func(note) (end func()) // begins a call; nil: nothing does
}

// asked is a call of this node that waits for its answer.
type asked struct {
	node   string
	answer chan result // holds one
}

type result struct {
	data []byte
	err  error
}

// end gives the call its answer. The first one counts.
func (a *asked) end(data []byte, err error) {
	select {
	case a.answer <- result{data, err}:
	default:
	}
}

// errDeaf: what was asked of a node was lost, or its answer.
var errDeaf = errors.New("a connection between two nodes and the database broke; the call is lost")

// ear is a connection on which this node hears what others tell it. They are told that
// it heard nothing before.
func (b *backend) ear(ctx context.Context) (*pgx.Conn, error) {
	conn, err := b.connection(ctx)
	if err != nil {
		return nil, err
	}
	err = conn.PgConn().Exec(ctx, fmt.Sprintf(`LISTEN %s; LISTEN %s; SELECT pg_notify('%s', '%s'), set_config('synchronous_commit', 'off', true)`,
		quoted(b.everybody()), quoted(channelOf(b.id)), b.everybody(), encode(b.note(isDeaf)))).Close()
	if err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	return conn, nil
}

// hearAll does what others say, for so long or until the connection breaks.
func (b *backend) hearAll(ctx context.Context, conn *pgx.Conn, long time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	for {
		got, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		var n note
		if err := json.Unmarshal([]byte(got.Payload), &n); err != nil {
			b.log.Warn("cannot read what another node says", "err", err)
		} else if n.From != b.id {
			b.hear(n)
		}
	}
}

// do runs f under the lock.
func (w *wire) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// hears opens the way for calls.
func (w *wire) hears() { w.do(func() { close(w.ready) }) }

// deaf ends the calls whose answers will not be heard.
func (w *wire) deaf() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.ready:
		w.ready = make(chan struct{})
	default:
	}
	clear(w.parts)
	for _, a := range w.asked {
		a.end(nil, errDeaf)
	}
}

// whole puts n together with what came of it before. It reports whether n is the
// last part, and drops what grows too large. The lock is held.
func (w *wire) whole(n *note) bool {
	at := [2]string{n.From, n.ID}
	before, begun := w.parts[at]
	delete(w.parts, at)
	if begun {
		n.Data = append(before, n.Data...)
	}
	if n.More > 0 && len(n.Data) <= sessions.MaxAnswer {
		w.parts[at] = n.Data
	}
	return n.More == 0
}

// hear does what a note says.
func (b *backend) hear(n note) {
	w := &b.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.whole(&n) {
		return
	}
	switch n.Kind {
	case isCall:
		b.begins(n)
	case isGiveUp:
		if end := w.calls[[2]string{n.From, n.ID}]; end != nil {
			end()
		}
	case isAnswer:
		if a := w.asked[n.ID]; a != nil {
			a.end(n.Data, nil)
		}
	case isFailure:
		if a := w.asked[n.ID]; a != nil {
			a.end(nil, failure(n.Data))
		}
	case isDeaf:
		for _, a := range w.asked {
			if a.node == n.From {
				a.end(nil, errDeaf)
			}
		}
	case isFence:
		b.fence(n.Key, n.Epoch)
	case isJobs:
		select {
		case b.jobsCame <- struct{}{}:
		default: // it will ask
		}
	case isFree:
		b.mu.Lock()
		defer b.mu.Unlock()
		close(b.free)
		b.free = make(chan struct{})
	default:
		b.log.Warn("another node says what this version does not know", "kind", string(n.Kind))
	}
}

package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// remote is a channel that another node holds: what has to pass through its
// connection is asked of that node. What depends on no connection is asked of the
// same channel here.
type remote struct {
	channels.Channel // that of this node, which does not run
	g                *Gateway

	mu    sync.Mutex
	state state
	at    time.Time // when it was told
}

var (
	_ channels.Channel   = (*remote)(nil)
	_ channels.Typer     = (*remote)(nil)
	_ channels.Previewer = (*remote)(nil)
	_ channels.Fader     = (*remote)(nil)
	_ channels.Retractor = (*remote)(nil)
)

// leaseOf is the lease of the channel called name.
func leaseOf(name string) string { return "channel:" + name }

// elsewhere reports whether another node holds the channel, or none.
func (b *binding) elsewhere() bool { return b.remote != nil && !b.held.Load() }

// able is the channel of b as one that has the ability T, wherever it runs.
func able[T any](b *binding) (t T, is bool) {
	if t, is = b.Channel.(T); is && b.elsewhere() {
		t, is = any(b.remote).(T)
	}
	return t, is
}

// fades reports whether previews that no message shows go by themselves now.
func (b *binding) fades() bool {
	f, is := able[channels.Fader](b)
	return is && f.Fades()
}

// errNobody: no node holds the channel now.
var errNobody = errors.New("no node is connected")

// ask calls the node that holds the channel. Nothing was begun if there is none.
func ask[R any](ctx context.Context, r *remote, name string, args any) (R, error) {
	got, err := call[R](ctx, r.g, sessions.Peer{Lease: leaseOf(r.Name())}, name, args)
	if errors.Is(err, sessions.ErrNoPeer) {
		err = &channels.NotSent{Err: errNobody}
	}
	return got, err
}

// Send sends through the node that holds the channel. If that dies on the way, it
// is not known whether the message was sent.
func (r *remote) Send(ctx context.Context, m channels.Outbound) (channels.Receipt, error) {
	return ask[channels.Receipt](ctx, r, callSend, m)
}

// Typing implements [channels.Typer].
func (r *remote) Typing(ctx context.Context, k channels.Key) error {
	_, err := ask[struct{}](ctx, r, callTyping, k)
	return err
}

// preview is what became of a [channels.Preview].
type preview struct {
	MessageID string `json:"message_id,omitempty"`
	Fades     bool   `json:"fades,omitempty"`
}

// Preview implements [channels.Previewer].
func (r *remote) Preview(ctx context.Context, p channels.Preview) (string, error) {
	shown, err := ask[preview](ctx, r, callPreview, p)
	if err == nil {
		r.mu.Lock()
		r.state.Fades = shown.Fades
		r.mu.Unlock()
	}
	return shown.MessageID, err
}

// PreviewEvery implements [channels.Previewer].
func (r *remote) PreviewEvery() time.Duration {
	p, is := r.Channel.(channels.Previewer)
	if !is {
		return time.Hour
	}
	return p.PreviewEvery()
}

// Fades implements [channels.Fader].
func (r *remote) Fades() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Fades
}

// shownMessage is a message of ours that shows a preview.
type shownMessage struct {
	Key       channels.Key `json:"key"`
	MessageID string       `json:"message_id"`
}

// Retract implements [channels.Retractor].
func (r *remote) Retract(ctx context.Context, k channels.Key, messageID string) error {
	_, err := ask[struct{}](ctx, r, callRetract, shownMessage{k, messageID})
	return err
}

// heard takes what the node that holds the channel says of it.
func (r *remote) heard(s state, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.at = s, now
}

// told is what the node said last that holds the channel, if that is not long ago.
func (r *remote) told() (st channels.Status, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch now := r.g.opts.Now(); {
	case r.at.IsZero():
		return channels.Status{State: channels.StateConnecting, Detail: "waiting to hear of another node", Since: now}, false
	case now.Sub(r.at) > statesLife:
		return channels.Status{State: channels.StateDown, Detail: "no node says that it is connected", Since: r.at.Add(statesLife)}, false
	}
	return r.state.Status, true
}

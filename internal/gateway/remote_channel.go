package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// remoteChannel is a channel that another node runs. What needs its connection
// is asked of that node; everything else is asked of the channel of this node,
// which does not run.
type remoteChannel struct {
	channels.Channel // of this node
	g                *Gateway

	mu    sync.Mutex
	state channelState
	at    time.Time // when it was reported
}

var (
	_ channels.Channel   = (*remoteChannel)(nil)
	_ channels.Typer     = (*remoteChannel)(nil)
	_ channels.Previewer = (*remoteChannel)(nil)
	_ channels.Fader     = (*remoteChannel)(nil)
	_ channels.Retractor = (*remoteChannel)(nil)
)

func leaseOf(name string) string { return "channel:" + name }

// elsewhere reports whether this node does not run the channel: another one
// does, or none.
func (b *binding) elsewhere() bool { return b.remote != nil && !b.held.Load() }

// ability is the channel of b as a T, wherever it runs; false if it is none.
func ability[T any](b *binding) (t T, is bool) {
	t, is = b.Channel.(T)
	if is && b.elsewhere() {
		t, is = any(b.remote).(T)
	}
	return t, is
}

// fades reports whether previews without a message disappear by themselves now.
func (b *binding) fades() bool {
	f, is := ability[channels.Fader](b)
	return is && f.Fades()
}

// askHolder calls the node that runs the channel. If there is none, nothing was
// begun.
func askHolder[R any](ctx context.Context, r *remoteChannel, name string, args any) (R, error) {
	got, err := call[R](ctx, r.g, sessions.Peer{Lease: leaseOf(r.Name())}, name, args)
	if errors.Is(err, sessions.ErrNoPeer) {
		err = &channels.NotSent{Err: errors.New("no node is connected")}
	}
	return got, err
}

// Send sends through the node that runs the channel. If that node dies
// meanwhile, nobody knows whether the message was sent.
func (r *remoteChannel) Send(ctx context.Context, m channels.Outbound) (channels.Receipt, error) {
	return askHolder[channels.Receipt](ctx, r, callSend, callOf(m))
}

// Typing implements [channels.Typer].
func (r *remoteChannel) Typing(ctx context.Context, k channels.Key) error {
	_, err := askHolder[struct{}](ctx, r, callTyping, k)
	return err
}

// preview is what another node returns after it has shown a preview for us.
type preview struct {
	MessageID string `json:"message_id,omitempty"`
	Fades     bool   `json:"fades,omitempty"`
}

// Preview implements [channels.Previewer].
func (r *remoteChannel) Preview(ctx context.Context, p channels.Preview) (string, error) {
	shown, err := askHolder[preview](ctx, r, callPreview, p)
	if err == nil {
		r.mu.Lock()
		r.state.Fades = shown.Fades
		r.mu.Unlock()
	}
	return shown.MessageID, err
}

// PreviewEvery implements [channels.Previewer].
func (r *remoteChannel) PreviewEvery() time.Duration {
	return r.Channel.(channels.Previewer).PreviewEvery() // see ability
}

// Fades implements [channels.Fader].
func (r *remoteChannel) Fades() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Fades
}

// shownMessage names a message in a chat, in a call to another node.
type shownMessage struct {
	Key       channels.Key `json:"key"`
	MessageID string       `json:"message_id"`
}

// Retract implements [channels.Retractor].
func (r *remoteChannel) Retract(ctx context.Context, k channels.Key, messageID string) error {
	_, err := askHolder[struct{}](ctx, r, callRetract, shownMessage{k, messageID})
	return err
}

func (r *remoteChannel) setState(s channelState, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.at = s, now
}

// lastState is the last report about the channel, if it is recent enough.
func (r *remoteChannel) lastState() (st channels.Status, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch now := r.g.opts.Now(); {
	case r.at.IsZero():
		return channels.Status{State: channels.StateConnecting, Detail: "waiting to hear from another node", Since: now}, false
	case now.Sub(r.at) > statesLife:
		return channels.Status{State: channels.StateDown, Detail: "no node says that it is connected", Since: r.at.Add(statesLife)}, false
	}
	return r.state.Status, true
}

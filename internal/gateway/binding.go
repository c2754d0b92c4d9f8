package gateway

import (
	"sync"
	"sync/atomic"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
)

// Binding attaches one channel and says who may talk on it.
type Binding struct {
	Channel channels.Channel
	// Policy says who may talk. Messages accepted before it changed are still answered.
	people.Policy
	// Reset, if not "", replaces Options.Reset.Mode on this channel.
	Reset ResetMode
	// System is the channel's part of the system prompt in a chat, private or
	// not. It is the same for each turn. Nil: none.
	System func(chat string, private bool) string
	// Model is the model for a chat that names none; "" is the configured one.
	// Nil: the configured one for every chat.
	Model func(chat string) string
	// Everywhere: the channel runs on each node at the same time, because what people
	// see of it is in the store. Other channels run on one node, under a lease.
	Everywhere bool
}

// binding is a [Binding] with its state on this node. It lives as long as the
// gateway; a reload changes only fields under mu.
type binding struct {
	Binding
	revive   chan struct{} // capacity 1: asks a channel that does not work to try at once
	stranded stranded
	remote   *remoteChannel // nil without other nodes, and for a channel that runs on each
	held     atomic.Bool    // this node has the lease
	mu       sync.Mutex     // of status, Policy, System and Model
	status   channels.Status
}

// channelAs is the channel of k as a T; false if there is none, or it is none.
func channelAs[T any](g *Gateway, k channels.Key) (t T, is bool) {
	if b := g.bindings[k.Channel()]; b != nil {
		t, is = b.Channel.(T)
	}
	return t, is
}

// Change lets f change Policy, System and Model of a channel while the gateway runs.
// It does nothing if there is no such channel.
func (g *Gateway) Change(channel string, f func(*Binding)) {
	if b := g.bindings[channel]; b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		f(&b.Binding)
		g.opts.Gate.Set(channel, b.Policy)
	}
}

// modelFor returns the model that the channel names for a chat, or "".
func (b *binding) modelFor(k channels.Key) string {
	if b == nil {
		return ""
	}
	b.mu.Lock()
	model := b.Model
	b.mu.Unlock()
	if model == nil {
		return ""
	}
	return model(k.Chat())
}

func (b *binding) systemFor(chat string, private bool) string {
	b.mu.Lock()
	system := b.System
	b.mu.Unlock()
	if system == nil {
		return ""
	}
	return system(chat, private)
}

const (
	// albumQuiet is how soon after one part of an album the next one must come
	// for both to be answered together.
	albumQuiet = 500 * time.Millisecond
	// albumLimit bounds the wait for all parts from the first one on. With a
	// [channels.Pauser] it is at least four of its pauses.
	albumLimit = 3 * time.Second
)

// albumPause returns how long a turn waits after m for the rest of its album, and
// how long at most after the first part. Both are 0 if m belongs to no album.
func (b *binding) albumPause(m channels.Inbound) (quiet, most time.Duration) {
	if m.Album == "" || m.Edits != "" {
		return 0, 0
	}
	if p, ok := b.Channel.(channels.Pauser); ok {
		quiet = p.Pause(m)
		return quiet, max(albumLimit, 4*quiet)
	}
	return albumQuiet, albumLimit
}

// callback is how the network calls the channel; nil if it does not.
func (b *binding) callback() *channels.Callback {
	c, is := b.Channel.(channels.Called)
	if !is {
		return nil
	}
	return c.Callback()
}

// takesAnywhere reports whether messages come in on every node.
func (b *binding) takesAnywhere() bool { return b.Everywhere || b.callback() != nil }

package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Binding attaches one channel and says who may talk on it.
type Binding struct {
	Channel channels.Channel
	// Allow lists who may talk: immutable ids, "chat:<chat>" for everybody in
	// a chat, "*" for everybody. Empty: nobody.
	Allow []string
	// Pairing offers strangers in private chats a code for the operator.
	Pairing bool
	// Groups says what is answered in shared chats. "": Addressed.
	Groups Groups
	// Reset, if not "", stands for Options.Reset.Mode on this channel.
	Reset ResetMode
	// System is the channel's own part of the system prompt in a chat, which is
	// private or not. It stays the same from turn to turn. Nil: there is none.
	System func(chat string, private bool) string
	// Model is the model for a chat that has none of its own; "" is the
	// configured one. Nil: it is for all of them.
	Model func(chat string) string
	// Everywhere says that the channel runs on each node at the same time: what
	// people see of it is in the store. Others run on one, under a lease.
	Everywhere bool
	// Owner says that whoever reads here runs Dragoman: why a model does not
	// answer is told with what can be done about it.
	Owner bool
}

// Groups says which messages of shared chats are answered.
type Groups string

// The values of Binding.Groups.
const (
	Addressed Groups = "addressed" // a mention, a reply to us, a command
	All       Groups = "all"
	Off       Groups = "off"
)

type binding struct {
	Binding
	revive   chan struct{} // asks a channel that does not work to try at once
	stranded stranded
	remote   *remote     // nil where there are no other nodes, or each has the channel
	held     atomic.Bool // this node has its lease
	mu       sync.Mutex  // of what follows, and of Allow, System and Model
	shut     bool
	status   channels.Status
}

// change calls f with a channel, under its lock.
func (g *Gateway) change(channel string, f func(*binding)) {
	if b := g.bindings[channel]; b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		f(b)
	}
}

// SetAllow replaces the allow list of a channel while the gateway runs.
func (g *Gateway) SetAllow(channel string, allow []string) {
	g.change(channel, func(b *binding) { b.Allow = allow })
}

// SetSystem replaces Binding.System of a channel while the gateway runs.
func (g *Gateway) SetSystem(channel string, system func(chat string, private bool) string) {
	g.change(channel, func(b *binding) { b.System = system })
}

// SetModel replaces Binding.Model of a channel while the gateway runs.
func (g *Gateway) SetModel(channel string, model func(chat string) string) {
	g.change(channel, func(b *binding) { b.Model = model })
}

// Shut closes a channel to everybody, paired people included, or opens it
// again. What was accepted before is still answered.
func (g *Gateway) Shut(channel string, shut bool) {
	g.change(channel, func(b *binding) { b.shut = shut })
}

// withModel is h with the model that its channel has for k, if k has none of
// its own.
func (g *Gateway) withModel(k channels.Key, h sessions.History) sessions.History {
	b := g.bindings[k.Channel()]
	if b == nil || h.Settings.Model != "" {
		return h
	}
	b.mu.Lock()
	model := b.Model
	b.mu.Unlock()
	if model != nil {
		h.Settings.Model = model(k.Chat())
	}
	return h
}

// systemFor is the channel's part of the system prompt in a chat.
func (b *binding) systemFor(chat string, private bool) string {
	b.mu.Lock()
	system := b.System
	b.mu.Unlock()
	if system == nil {
		return ""
	}
	return system(chat, private)
}

// system is the channel's part of the prompt, and what is known of the person.
func (r *run) system(ctx context.Context, newest *channels.Inbound) (string, error) {
	text := r.b.systemFor(r.claim.Key.Chat(), newest.Private)
	if !newest.Private || r.g.opts.Known == nil {
		return text, nil
	}
	known, err := r.g.opts.Known(ctx, r.claim.Key, newest.Sender)
	if err != nil {
		return "", &storeError{err}
	}
	return strings.TrimSpace(text + "\n\n" + known), nil
}

func (b *binding) isShut() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shut
}

func (b *binding) current() channels.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.elsewhere() {
		if st, known := b.remote.told(); known || !b.status.Trouble() {
			return st
		}
		return b.status // why this node does not hold it
	}
	r, ok := b.Channel.(channels.Reporter)
	if !ok {
		return b.status
	}
	own := r.Status()
	// Of a failure the channel has a sentence, and its error only words.
	if b.status.State == channels.StateConnected || b.status.State == channels.StateFailed && own.State == channels.StateFailed {
		return own
	}
	return b.status
}

// Revive asks every channel that does not work to try at once: an operator says
// that something was mended. Those that other nodes hold are asked as well.
func (g *Gateway) Revive() {
	g.reviveOwn()
	if g.opts.Peers == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), statesWithin)
	defer cancel()
	if _, err := g.opts.Peers.Call(ctx, sessions.Peer{All: true}, callRevive, nil); err != nil {
		g.opts.Logger.Warn("cannot ask other nodes to try again", "err", err)
	}
}

// reviveOwn does so with the channels that this node holds.
func (g *Gateway) reviveOwn() {
	for _, b := range g.bindings {
		if b.elsewhere() {
			continue
		}
		if r, able := b.Channel.(channels.Reviver); able {
			r.Revive()
		}
		if b.current().Trouble() {
			b.hurry()
		}
	}
}

// works is told that a message went out: a channel that had failed, because its
// network refused the bot, is run again.
func (b *binding) works() {
	if !b.elsewhere() && b.current().State == channels.StateFailed {
		b.hurry()
	}
}

func (b *binding) hurry() {
	select {
	case b.revive <- struct{}{}:
	default:
	}
}

func (b *binding) set(now time.Time, s channels.State, detail string) {
	b.mu.Lock()
	b.status = channels.Status{State: s, Detail: detail, Since: now}
	b.mu.Unlock()
}

// superviseChannel runs a channel again whenever it stops too early: after a
// pause, or, if a person has to look at it first, when Revive is called.
func (g *Gateway) superviseChannel(ctx context.Context, b *binding) {
	log := g.opts.Logger.With("channel", b.Channel.Name())
	wait := backoff{base: time.Second, most: time.Minute}
	for ctx.Err() == nil {
		began := g.opts.Now()
		b.set(began, channels.StateConnected, "") // from here on a Reporter speaks for itself
		err := g.runChannel(ctx, b)
		if g.opts.Now().Sub(began) > time.Minute {
			wait.reset()
		}
		var due <-chan time.Time
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errHurried):
			continue
		case errors.Is(err, channels.ErrElsewhere):
			due = time.After(letGoFor)
			b.set(g.opts.Now(), channels.StateDown, err.Error())
			log.Warn("channel let go: another program uses its connection", "err", err, "in", letGoFor)
		case errors.Is(err, channels.ErrPermanent):
			b.set(g.opts.Now(), channels.StateFailed, err.Error())
			log.Error("channel failed; someone must act", "err", err)
		default:
			d := wait.next()
			due = time.After(d)
			b.set(g.opts.Now(), channels.StateDown, fmt.Sprintf("stopped, starts again in %s", d.Round(time.Second)))
			log.Warn("channel stopped; starting it again", "err", err, "in", d)
		}
		select {
		case <-due:
		case <-b.revive:
		case <-ctx.Done():
			return
		}
	}
}

// letGoFor is how long a node leaves a channel to others that was taken from it,
// which is about as long as a dead one keeps its leases.
const letGoFor = 10 * time.Second

// errHurried: a channel that waited for its next attempt is to make it now.
var errHurried = errors.New("gateway: the channel was asked to try at once")

// runChannel runs a channel, under its lease if it has one, and turns a panic into an error:
// one bad adapter must not end the others.
func (g *Gateway) runChannel(ctx context.Context, b *binding) error {
	run := func(ctx context.Context) (err error) {
		defer recoverTo(&err, "channel "+b.Channel.Name())
		if _, able := b.Channel.(channels.Reviver); able {
			return b.Channel.Run(ctx, intake{g, b})
		}
		ctx, end := context.WithCancelCause(ctx)
		var hurrying sync.WaitGroup
		hurrying.Go(func() {
			select {
			case <-b.revive:
				end(errHurried)
			case <-ctx.Done():
			}
		})
		defer hurrying.Wait()
		defer end(nil)
		err = b.Channel.Run(ctx, intake{g, b})
		if context.Cause(ctx) == errHurried {
			return errHurried
		}
		return err
	}
	if b.Everywhere {
		return run(ctx)
	}
	return g.store.Hold(ctx, leaseOf(b.Channel.Name()), func(ctx context.Context) error {
		b.held.Store(true)
		defer b.held.Store(false)
		return run(ctx)
	})
}

var (
	_ channels.Intake   = intake{}
	_ channels.Resolver = intake{}
)

// intake is what one channel hands its messages to.
type intake struct {
	g *Gateway
	b *binding
}

func (in intake) Accept(ctx context.Context, m channels.Inbound) error {
	return in.g.accept(ctx, in.b, m)
}

func (in intake) Quarantine(ctx context.Context, channel, id string, raw []byte, why error) error {
	in.g.opts.Logger.Warn("set aside a message that the channel could not understand", "channel", channel, "msg_id", id, "err", why)
	in.g.opts.Observer.Quarantined(channel)
	return in.g.store.Quarantine(ctx, sessions.Quarantined{Channel: channel, ID: id, Raw: raw, Why: why.Error()})
}

// Resolve drops what was quarantined under id: it was understood after all.
func (in intake) Resolve(ctx context.Context, channel, id string) error {
	if err := in.g.store.Resolve(ctx, channel, id); err != nil {
		return fmt.Errorf("gateway: settle on %s: %w", channel, err)
	}
	return nil
}

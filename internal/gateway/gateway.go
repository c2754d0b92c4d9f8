// Package gateway is the way of a message through Dragoman: accept, run a
// turn, deliver. It is the only place that knows channels, sessions and the
// agent together.
//
// Its promise: a message that its network believes delivered is in the store;
// it gets exactly one visible answer, in order. What is in memory here may be
// lost at any moment without breaking that: the store says what is left to do,
// and a restart goes on from there. The one exception is a message whose
// sending was begun and never confirmed; it is sent again with a mark
// ([RepeatMark]) and counted, unless its network can tell repeats apart.
//
// Goroutines: [Gateway.Run] owns one per channel, the store's one per key that
// has work, one attendant per running turn (typing, previews, command
// answers), a few per turn while it fetches the files that came with its
// messages, one that deletes old conversations, and those of
// [recap.Summaries]. All of them have ended when Run returns.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/channels"
	"dragoman/sessions"
)

// Agent is the part of *agent.Agent that the gateway and its summaries call.
type Agent interface {
	Run(ctx context.Context, t agent.Turn) (agent.Result, error)
	recap.Writer
}

// Store is the part of sessions.Store that the gateway calls.
type Store interface {
	sessions.Inbox
	sessions.Work
	sessions.Outbox
	sessions.Feeds
	sessions.Transcript
	sessions.People
	sessions.Leases
	sessions.Lifetime
	Titles
	Waiting
	Seen
}

// Seen is what people saw in a conversation; see [sessions.Feeds].
type Seen interface {
	Feed(ctx context.Context, k channels.Key, before int64, limit int) ([]sessions.FeedItem, error)
}

// Waiting is what waits for its time, and is made due.
type Waiting interface {
	ListQueue(ctx context.Context, limit int) ([]sessions.QueueItem, error)
	RetryQueue(ctx context.Context, id string) error
}

// Titles is how conversations are called, and which of them is the newest.
type Titles interface {
	Find(ctx context.Context, q sessions.Query) ([]sessions.Conversation, error)
	Conversation(ctx context.Context, k channels.Key) (sessions.Conversation, error)
	Rename(ctx context.Context, k channels.Key, title string) error
}

// Gateway joins channels, store and agent. See the package comment.
type Gateway struct {
	store    Store
	agent    Agent
	opts     Options
	bindings map[string]*binding
	underway underway
	turns    *semaphore.Weighted // FIFO, so a busy chat cannot starve others
	live     liveTurns
	strikes  limiter
	told     notices
	asking   asking
	// turnedAway are the strangers who were told that there is no code for them,
	// crowd bounds how many are.
	turnedAway notices
	crowd      limiter
	resting    resting
	inFlight   inFlight
	cures      cures
	summaries  *recap.Summaries
	answers    map[string]Method // by what other nodes call them
	busy       busy
	left       chan struct{} // closed when other nodes have taken over what waits
}

// New makes a gateway that serves bindings. Nothing starts before Run.
func New(store Store, ag Agent, bindings []Binding, opts Options) (*Gateway, error) {
	opts.setDefaults()
	g := &Gateway{
		store: store, agent: ag, opts: opts,
		bindings: make(map[string]*binding, len(bindings)),
		turns:    semaphore.NewWeighted(int64(opts.MaxTurns)),
		live:     liveTurns{m: make(map[channels.Key]*liveTurn)},
		strikes:  limiter{perMinute: opts.RatePerMinute, now: opts.Now},
		crowd:    limiter{perMinute: turnedAwayPerMinute, now: opts.Now},
		left:     make(chan struct{}),
	}
	g.summaries, g.answers = g.newSummaries(), g.methods()
	for _, b := range bindings {
		name := b.Channel.Name()
		if name == HeartbeatChannel {
			return nil, fmt.Errorf("gateway: a channel cannot be called %q", name)
		}
		if g.bindings[name] != nil {
			return nil, fmt.Errorf("gateway: two channels are called %q", name)
		}
		nb := &binding{Binding: b, revive: make(chan struct{}, 1), stranded: newStranded(), status: channels.Status{State: channels.StateConnecting, Since: opts.Now()}}
		if opts.Peers != nil && !b.Everywhere {
			nb.remote = &remote{Channel: b.Channel, g: g}
		}
		g.bindings[name] = nb
		if c, ok := b.Channel.(channels.Commander); ok {
			c.SetCommands(Commands())
		}
	}
	return g, nil
}

// Run serves until ctx ends. Then it drains: nothing new is accepted, running
// turns and deliveries may finish within Options.DrainLimit, the rest stays in
// the store for the next start, or for other nodes, which take over the channels,
// too. If the store's dispatcher ends before ctx, Run
// ends with it, without draining, and returns its error; there is no other.
func (g *Gateway) Run(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	held, letGo := context.WithCancel(life) // of channels that one node holds
	defer letGo()
	var wg sync.WaitGroup
	for _, b := range g.bindings {
		switch {
		case b.Everywhere:
			wg.Go(func() { g.superviseChannel(life, b) })
		case !g.opts.NoChannels:
			wg.Go(func() { g.superviseChannel(held, b) })
		}
		wg.Go(func() { g.hasten(life, b) })
	}
	sweeping, stopSweep := context.WithCancel(ctx)
	defer stopSweep()
	if g.opts.RetentionDays > 0 && !g.opts.Partial {
		wg.Go(func() {
			_ = g.store.Hold(sweeping, "retention", func(ctx context.Context) error {
				g.sweep(ctx)
				return nil
			})
		})
	}
	ended := make(chan error, 2) // of the store's dispatcher, and of the calls
	if !g.opts.NoTurns {
		wg.Go(func() { ended <- g.store.Run(life, g.handle) })
	}
	wg.Go(func() { ended <- g.serveNodes(life) })

	var err error
	select {
	case <-ctx.Done():
		g.drain(letGo)
	case err = <-ended:
	}
	end()
	stopSweep()
	wg.Wait()
	g.summaries.Wait()
	close(ended)
	for other := range ended {
		err = cmp.Or(err, other)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// drain waits until no turn runs and nothing is being delivered.
func (g *Gateway) drain(letGo func()) {
	left := g.busy.close()
	g.opts.Logger.Info("draining", "busy", left, "limit", g.opts.DrainLimit)
	g.handOver(letGo)
	select {
	case <-g.busy.idle():
		g.opts.Logger.Info("drained")
	case <-time.After(g.opts.DrainLimit):
		g.opts.Logger.Warn("drain limit reached; the rest stays queued", "busy", g.busy.count())
	}
}

// Ready reports whether every channel that this node runs is connected; the error
// names those that are not.
func (g *Gateway) Ready() error {
	var errs []error
	for name, st := range g.ChannelsHere() {
		if st.State != channels.StateConnected && !st.Unused {
			errs = append(errs, fmt.Errorf("channel %s is %s: %s", name, st.State, st.Detail))
		}
	}
	return errors.Join(errs...)
}

// Channels tells how every channel is doing.
func (g *Gateway) Channels() map[string]channels.Status {
	all := make(map[string]channels.Status, len(g.bindings))
	for name, b := range g.bindings {
		all[name] = b.current()
	}
	return all
}

// ChannelsHere is Channels without those that other nodes hold.
func (g *Gateway) ChannelsHere() map[string]channels.Status {
	all := g.Channels()
	for name, b := range g.bindings {
		if b.elsewhere() {
			delete(all, name)
		}
	}
	return all
}

// Running counts the turns that run now and the longest one's age.
func (g *Gateway) Running() (turns int, oldest time.Duration) {
	return g.live.running(g.opts.Now())
}

func (g *Gateway) log(k channels.Key) *slog.Logger { return g.opts.Logger.With("key", k.String()) }

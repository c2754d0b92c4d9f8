// Package gateway takes a message through Dragoman: accept, run a turn, deliver. It
// is the only place that knows channels, sessions and the agent together.
//
// Its promise: a message that its network believes delivered is in the store,
// and it gets exactly one visible answer, in order. Everything in memory here
// may be lost at any moment: the store knows what is left to do, and a restart
// continues from there. The one exception is a delivery that was begun and
// never confirmed. It is sent again with a mark ([channels.RepeatMark]) and counted,
// unless its network recognises repeats.
//
// The files, in the order of a message's life:
//
//   - accept: binding, supervise, intake, gate, pairing, accept, reset; commands,
//     approvals, stop, ask, watchers
//   - run a turn: work, turn, given, attachments, jobs, live_turn, attendant, finish,
//     park, asking, failures, outages, notices, summaries
//   - deliver: split, deliver, interleave, outgoing, in_flight, reconnect
//   - several nodes: nodes, chat_calls, remote_channel
//   - the gateway itself: gateway, chat, store, options, drain, retention
//
// Goroutines: [Gateway.Run] owns one per channel and one that retries its stranded
// deliveries, the store's one per key that has work, one attendant per running turn
// (typing, previews, command answers), a few per turn while it fetches the files
// that came with its messages, one that deletes old conversations, and those of
// [recap.Summaries]. All of them have ended when Run returns.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/channels"
	"dragoman/internal/admission"
	"dragoman/internal/people"
)

// Agent is the part of *agent.Agent that the gateway and its summaries call.
type Agent interface {
	Run(ctx context.Context, t agent.Turn) (agent.Result, error)
	recap.Writer
}

// Gateway joins channels, store and agent. See the package comment.
type Gateway struct {
	store    Store
	agent    Agent
	opts     Options
	bindings map[string]*binding
	chats    chats
	turns    *semaphore.Weighted // FIFO, so a busy chat cannot starve others
	// slotWaits counts those who wait for turns.
	slotWaits atomic.Int64
	rules     atomic.Pointer[[]admission.Rule] // asked before each turn
	rates     limiter
	// elsewheres limits what is sent to other chats.
	elsewheres limiter
	// applicants are the strangers who were given a pairing code. turnAwayRate bounds how
	// many of those for whom there was none are told.
	applicants   applicants
	turnAwayRate limiter
	resting      resting
	inFlight     inFlight
	formerSends  formerSends
	summaries    *recap.Summaries
	methods      map[string]Method // what other nodes can call
	busy         busy
	handedOver   chan struct{} // closed when other nodes have taken over the waiting work
}

// New makes a gateway that serves bindings. Nothing starts before Run.
func New(store Store, ag Agent, bindings []Binding, opts Options) (*Gateway, error) {
	opts.setDefaults()
	if opts.Gate == nil {
		opts.Gate = people.NewGate(store)
	}
	g := &Gateway{
		store: store, agent: ag, opts: opts,
		bindings:     make(map[string]*binding, len(bindings)),
		turns:        semaphore.NewWeighted(int64(opts.MaxTurns)),
		chats:        chats{m: map[channels.Key]*chat{}},
		rates:        limiter{perMinute: opts.RatePerMinute, now: opts.Now},
		elsewheres:   limiter{perMinute: elsewherePerMinute, now: opts.Now},
		turnAwayRate: limiter{perMinute: turnedAwayPerMinute, now: opts.Now},
		resting:      resting{until: map[string]time.Time{}},
		inFlight:     inFlight{m: map[string]attempt{}, calls: map[string]chan struct{}{}},
		formerSends:  formerSends{m: map[string]bool{}},
		handedOver:   make(chan struct{}),
	}
	g.setRules(opts.Rules)
	g.summaries, g.methods = g.newSummaries(), g.peerMethods()
	for _, b := range bindings {
		name := b.Channel.Name()
		if name == HeartbeatChannel {
			return nil, fmt.Errorf("gateway: a channel cannot be called %q", name)
		}
		if g.bindings[name] != nil {
			return nil, fmt.Errorf("gateway: two channels are called %q", name)
		}
		nb := &binding{
			Binding: b, revive: make(chan struct{}, 1), stranded: stranded{ids: map[string]bool{}, any: make(chan struct{}, 1)},
			status: channels.Status{State: channels.StateConnecting, Since: opts.Now()},
		}
		if opts.Peers != nil && !b.Everywhere {
			nb.remote = &remoteChannel{Channel: b.Channel, g: g}
		}
		g.bindings[name] = nb
		opts.Gate.Set(name, b.Policy)
	}
	g.OfferCommands()
	return g, nil
}

// Run serves until ctx ends. Then it drains: it accepts nothing new, gives running
// turns and deliveries Options.DrainLimit to finish, and leaves the rest in the store
// for the next start, or for other nodes, which also take over the channels. If the
// store's dispatcher ends before ctx, Run ends with its error, without draining; it
// returns no other.
func (g *Gateway) Run(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	leased, release := context.WithCancel(life) // of the channels that only one node runs
	defer release()
	var wg sync.WaitGroup
	for _, b := range g.bindings {
		switch {
		case b.Everywhere:
			wg.Go(func() { g.superviseChannel(life, b) })
		case !g.opts.NoChannels:
			wg.Go(func() { g.superviseChannel(leased, b) })
		}
		wg.Go(func() { g.retryStranded(life, b) })
	}
	sweeping, stopSweep := context.WithCancel(ctx)
	defer stopSweep()
	if !g.opts.Partial {
		wg.Go(func() { g.sweepNotes(sweeping) })
		if g.connects() {
			wg.Go(func() { g.watchConnections(sweeping) })
		}
	}
	if g.opts.RetentionDays > 0 && !g.opts.Partial {
		wg.Go(func() {
			_ = g.store.Hold(sweeping, "retention", func(ctx context.Context) error {
				g.sweep(ctx)
				return nil
			})
		})
	}
	if g.opts.Calls != nil {
		wg.Go(func() { g.opts.Calls.Run(life) })
	}
	ended := make(chan error, 2) // from the dispatcher and from servePeers
	if !g.opts.NoTurns {
		// The rules of the last start may have been others.
		if err := g.unpark(ctx); err != nil {
			g.opts.Logger.Warn("parked turns go on at their own time, although the rules may have changed", "err", err)
		}
		wg.Go(func() { ended <- g.store.Run(life, g.handle) })
	}
	wg.Go(func() { ended <- g.servePeers(life) })

	var err error
	select {
	case <-ctx.Done():
		g.drain(release)
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

// Ready reports whether this node takes messages and every channel that it runs is
// connected. The error says that it is stopping, or names those that are not.
func (g *Gateway) Ready() error {
	var errs []error
	if g.busy.closed() {
		errs = append(errs, errors.New("this node is stopping"))
	}
	for name, st := range g.ChannelsHere() {
		if st.State != channels.StateConnected && !st.Unused {
			errs = append(errs, fmt.Errorf("channel %s is %s: %s", name, st.State, st.Detail))
		}
	}
	return errors.Join(errs...)
}

// Channels returns the status of every channel.
func (g *Gateway) Channels() map[string]channels.Status {
	all := make(map[string]channels.Status, len(g.bindings))
	for name, b := range g.bindings {
		all[name] = b.currentStatus()
	}
	return all
}

// ChannelsHere is Channels without those that other nodes run.
func (g *Gateway) ChannelsHere() map[string]channels.Status {
	all := g.Channels()
	for name, b := range g.bindings {
		if b.elsewhere() {
			delete(all, name)
		}
	}
	return all
}

// Running returns the number of running turns and the age of the oldest.
func (g *Gateway) Running() (turns int, oldest time.Duration) {
	return g.chats.running(g.opts.Now())
}

func (g *Gateway) log(k channels.Key) *slog.Logger { return g.opts.Logger.With("key", k.String()) }

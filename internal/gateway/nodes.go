package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Method answers a call from another node. See [sessions.Peers].
type Method = func(ctx context.Context, args []byte) ([]byte, error)

// The calls between gateways.
const (
	callSend    = sessions.MethodSend
	callTyping  = "channel.typing"
	callPreview = "channel.preview"
	callRetract = "channel.retract"
	callRevive  = "channel.revive" // to all
	callStates  = "channel.states" // to all: the states of the caller's channels
	callEnded   = "turn.ended"     // to all: a turn that somebody waits for
	callWrote   = "person.wrote"   // to all: count a message against a person's rate
)

const (
	// statesEvery is how often a node looks for changed states of its channels.
	// It reports them when they change, and after half of statesLife, for which
	// the others believe a report.
	statesEvery = 500 * time.Millisecond
	statesLife  = 6 * time.Second
	// stateCallLimit bounds one report.
	stateCallLimit = 2 * time.Second
)

// peerMethods are what other nodes can call.
func (g *Gateway) peerMethods() map[string]Method {
	return map[string]Method{
		sessions.MethodChanged: g.changedElsewhere,
		callSend:               method(g.sendFor),
		callTyping:             method(g.typeFor),
		callPreview:            method(g.previewFor),
		callRetract:            method(g.retractFor),
		callRevive:             func(context.Context, []byte) ([]byte, error) { g.reviveOwn(); return nil, nil },
		callStates:             method(g.receiveStates),
		callEnded:              g.settledElsewhere,
		callWrote:              func(_ context.Context, who []byte) ([]byte, error) { g.rates.allow(string(who)); return nil, nil },
		callCommand:            method(g.command),
		callPress:              method(g.press),
		callOutcome:            method(g.outcomeFor),
		callAdmit:              method(g.admit),
	}
}

// method makes f callable with JSON.
func method[A, R any](f func(context.Context, A) (R, error)) Method {
	return func(ctx context.Context, args []byte) ([]byte, error) {
		var a A
		if err := json.Unmarshal(args, &a); err != nil {
			return nil, fmt.Errorf("gateway: the call is from another version: %w", err)
		}
		r, err := f(ctx, a)
		if err != nil {
			return nil, err
		}
		return json.Marshal(r)
	}
}

func call[R any](ctx context.Context, g *Gateway, to sessions.Peer, name string, args any) (r R, err error) {
	sent, err := json.Marshal(args)
	if err != nil {
		return r, &channels.NotSent{Err: err}
	}
	got, err := g.opts.Peers.Call(ctx, to, name, sent)
	if err == nil && len(got) > 0 {
		err = json.Unmarshal(got, &r)
	}
	return r, err
}

// servePeer answers a call from another node. An unknown call is
// [sessions.ErrNoPeer], so that a newer node treats an older one as if it were
// away.
func (g *Gateway) servePeer(ctx context.Context, name string, args []byte) (_ []byte, err error) {
	defer recoverTo(&err, "call "+name)
	f := g.methods[name]
	if f == nil {
		f = g.opts.Methods[name]
	}
	if f == nil {
		return nil, fmt.Errorf("gateway: this version does not know the call %q: %w", name, sessions.ErrNoPeer)
	}
	return f(ctx, args)
}

// servePeers answers other nodes and reports this node's channels, until ctx ends.
func (g *Gateway) servePeers(ctx context.Context) error {
	if g.opts.Peers == nil {
		<-ctx.Done()
		return nil
	}
	var reporting sync.WaitGroup
	defer reporting.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	reporting.Go(func() { g.reportStates(ctx) })
	return g.opts.Peers.Serve(ctx, g.servePeer)
}

// reportStates tells all nodes how this node's channels are, when something
// changed and often enough that they do not take it for dead.
func (g *Gateway) reportStates(ctx context.Context) {
	var last string
	var reported time.Time
	for sleep(ctx, statesEvery) {
		own := map[string]channelState{}
		for name, b := range g.bindings {
			if b.remote != nil && b.held.Load() {
				own[name] = channelState{b.currentStatus(), b.fades()}
			}
		}
		now, err := json.Marshal(own)
		if err != nil || len(own) == 0 || string(now) == last && g.opts.Now().Sub(reported) < statesLife/2 {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, stateCallLimit)
		_, err = g.opts.Peers.Call(limited, sessions.Peer{All: true}, callStates, now)
		cancel()
		if err != nil && ctx.Err() == nil {
			g.opts.Logger.Warn("cannot tell other nodes how the channels are doing, will retry", "err", err)
			continue
		}
		last, reported = string(now), g.opts.Now()
	}
}

// channelState is what the node that runs a channel tells the others about it.
type channelState struct {
	Status channels.Status `json:"status"`
	Fades  bool            `json:"fades,omitempty"` // see channels.Fader
}

// receiveStates keeps what another node reports about its channels.
func (g *Gateway) receiveStates(ctx context.Context, list map[string]channelState) (none struct{}, _ error) {
	for name, s := range list {
		if !sessions.Sealed(ctx) {
			s.Status.Detail = "" // operators read it
		}
		if b := g.bindings[name]; b != nil && b.remote != nil {
			b.remote.setState(s, g.opts.Now())
		}
	}
	return none, nil
}

// heldHere is the channel called name with the ability T, if this node runs it.
func heldHere[T any](g *Gateway, name string) (t T, err error) {
	b := g.bindings[name]
	if b == nil || !b.held.Load() {
		// The caller looks again for the node that runs the channel.
		return t, fmt.Errorf("gateway: this node does not hold the channel: %w", sessions.ErrNoPeer)
	}
	t, able := b.Channel.(T)
	if !able {
		return t, errors.New("gateway: the channel cannot do that")
	}
	return t, nil
}

func (g *Gateway) sendFor(ctx context.Context, call sendCall) (r channels.Receipt, err error) {
	o := call.message()
	if _, err := heldHere[channels.Channel](g, o.Key.Channel()); err != nil {
		return r, err
	}
	if !sessions.Sealed(ctx) {
		o, err = g.confirmed(ctx, o)
		if err != nil {
			return r, err
		}
	}
	b := g.bindings[o.Key.Channel()]
	if r, err = g.send(ctx, b, o); err == nil {
		b.reviveIfFailed()
	}
	return r, err
}

func (g *Gateway) typeFor(ctx context.Context, k channels.Key) (none struct{}, err error) {
	t, err := heldHere[channels.Typer](g, k.Channel())
	if err == nil {
		err = t.Typing(ctx, k)
	}
	return none, err
}

func (g *Gateway) previewFor(ctx context.Context, p channels.Preview) (shown preview, err error) {
	f, err := heldHere[channels.Previewer](g, p.Key.Channel())
	if err != nil {
		return shown, err
	}
	shown.MessageID, err = f.Preview(ctx, p)
	shown.Fades = g.bindings[p.Key.Channel()].fades()
	return shown, err
}

func (g *Gateway) retractFor(ctx context.Context, m shownMessage) (none struct{}, err error) {
	r, err := heldHere[channels.Retractor](g, m.Key.Channel())
	if err == nil {
		err = r.Retract(ctx, m.Key, m.MessageID)
	}
	return none, err
}

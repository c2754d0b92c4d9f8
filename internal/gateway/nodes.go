package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Method answers a call of another node. See [sessions.Peers].
type Method = func(ctx context.Context, args []byte) ([]byte, error)

// The calls that gateways make.
const (
	callSend    = "channel.send"
	callTyping  = "channel.typing"
	callPreview = "channel.preview"
	callRetract = "channel.retract"
	callRevive  = "channel.revive" // to all
	callStates  = "channel.states" // to all: how those that the caller holds are doing
	callWrote   = "person.wrote"   // to all: that counts against their rate
)

const (
	// statesEvery is how often a node looks whether its channels are doing otherwise
	// than it told, and statesLife for how long it is believed. It tells all the same
	// after half of that.
	statesEvery = 500 * time.Millisecond
	statesLife  = 6 * time.Second
	// statesWithin bounds telling them.
	statesWithin = 2 * time.Second
)

// methods are what other nodes can ask a gateway for.
func (g *Gateway) methods() map[string]Method {
	return map[string]Method{
		sessions.MethodChanged: g.changedElsewhere,
		callSend:               method(g.sendFor),
		callTyping:             method(g.typeFor),
		callPreview:            method(g.previewFor),
		callRetract:            method(g.retractFor),
		callRevive:             func(context.Context, []byte) ([]byte, error) { g.reviveOwn(); return nil, nil },
		callStates:             method(g.hearStates),
		callWrote:              func(_ context.Context, who []byte) ([]byte, error) { g.strikes.allow(string(who)); return nil, nil },
		callCommand:            method(g.command),
		callPress:              method(g.press),
		callOutcome:            method(g.outcomeFor),
		callAdmit:              method(g.admit),
	}
}

// method is f for the wire.
func method[A, R any](f func(context.Context, A) (R, error)) Method {
	return func(ctx context.Context, args []byte) ([]byte, error) {
		var a A
		if err := json.Unmarshal(args, &a); err != nil {
			return nil, fmt.Errorf("gateway: a call of another version: %w", err)
		}
		r, err := f(ctx, a)
		if err != nil {
			return nil, err
		}
		return json.Marshal(r)
	}
}

// call calls a method of another node.
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

// answerNode is what this node does for another one.
func (g *Gateway) answerNode(ctx context.Context, name string, args []byte) (_ []byte, err error) {
	defer recoverTo(&err, "call "+name)
	f := g.answers[name]
	if f == nil {
		f = g.opts.Methods[name]
	}
	if f == nil {
		return nil, fmt.Errorf("gateway: this version does not know the call %q: %w", name, sessions.ErrNoPeer)
	}
	return f(ctx, args)
}

// serveNodes answers other nodes and tells them of this one, until ctx ends.
func (g *Gateway) serveNodes(ctx context.Context) error {
	if g.opts.Peers == nil {
		<-ctx.Done()
		return nil
	}
	var telling sync.WaitGroup
	defer telling.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	telling.Go(func() { g.tellStates(ctx) })
	return g.opts.Peers.Serve(ctx, g.answerNode)
}

// handOver is called when this node begins to drain. If another node takes turns,
// that one gets the keys; if another runs channels, letGo ends those of this node,
// and what this node still has to deliver goes out through the other.
func (g *Gateway) handOver(letGo func()) {
	if g.opts.Peers == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), statesWithin)
	defer cancel()
	nodes, err := g.opts.Peers.Nodes(ctx)
	others := func(role string) bool {
		return slices.ContainsFunc(nodes, func(n sessions.Node) bool {
			return !n.Self && (len(n.Roles) == 0 || slices.Contains(n.Roles, role))
		})
	}
	if err == nil && others("turns") {
		if err = g.opts.Peers.Leave(ctx); err == nil {
			close(g.left)
		}
	}
	if err == nil && others("channels") {
		letGo()
	}
	if err != nil {
		g.opts.Logger.Warn("other nodes take over only when this one has stopped", "err", err)
	}
}

// handedOver waits until another node can go on with a key: at once if there is
// one, or else when this one stops.
func (g *Gateway) handedOver(ctx context.Context) {
	select {
	case <-g.left:
	case <-ctx.Done():
	}
}

// tellStates tells all nodes how the channels are doing that this one holds.
func (g *Gateway) tellStates(ctx context.Context) {
	var last string
	var told time.Time
	for sleep(ctx, statesEvery) {
		own := map[string]state{}
		for name, b := range g.bindings {
			if b.remote != nil && b.held.Load() {
				own[name] = state{b.current(), b.fades()}
			}
		}
		now, err := json.Marshal(own)
		if err != nil || len(own) == 0 || string(now) == last && g.opts.Now().Sub(told) < statesLife/2 {
			continue
		}
		telling, cancel := context.WithTimeout(ctx, statesWithin)
		_, err = g.opts.Peers.Call(telling, sessions.Peer{All: true}, callStates, now)
		cancel()
		if err != nil && ctx.Err() == nil {
			g.opts.Logger.Warn("cannot tell other nodes how the channels are doing, will retry", "err", err)
			continue
		}
		last, told = string(now), g.opts.Now()
	}
}

// state is how a channel is doing that another node holds.
type state struct {
	Status channels.Status `json:"status"`
	Fades  bool            `json:"fades,omitempty"` // see channels.Fader
}

// hearStates takes what another node says of the channels that it holds.
func (g *Gateway) hearStates(_ context.Context, list map[string]state) (none struct{}, _ error) {
	for name, s := range list {
		if b := g.bindings[name]; b != nil && b.remote != nil {
			b.remote.heard(s, g.opts.Now())
		}
	}
	return none, nil
}

// errNotHeld: the caller is to look again for who holds the channel.
var errNotHeld = fmt.Errorf("gateway: this node does not hold the channel: %w", sessions.ErrNoPeer)

// heldHere is the channel called name, as far as it is able to do what T says, if this node
// holds it.
func heldHere[T any](g *Gateway, name string) (t T, err error) {
	b := g.bindings[name]
	if b == nil || !b.held.Load() {
		return t, errNotHeld
	}
	t, able := b.Channel.(T)
	if !able {
		return t, errors.New("gateway: the channel cannot do that")
	}
	return t, nil
}

// sendFor sends what another node has to deliver.
func (g *Gateway) sendFor(ctx context.Context, o channels.Outbound) (r channels.Receipt, err error) {
	if _, err := heldHere[channels.Channel](g, o.Key.Channel()); err != nil {
		return r, err
	}
	b := g.bindings[o.Key.Channel()]
	if r, err = g.send(ctx, b, o); err == nil {
		b.works()
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

package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// nodes are those of one test. Each has its own store; the tests are about the
// calls between them.
type nodes struct {
	mu     sync.Mutex
	serve  map[string]gateway.Method // by node; its args begin with the method
	holder string                    // of all leases
	lost   error                     // each call ends so after it was served
}

type node struct {
	all *nodes
	id  string
}

func (n node) Call(ctx context.Context, to sessions.Peer, method string, args []byte) ([]byte, error) {
	n.all.mu.Lock()
	others := maps.Clone(n.all.serve)
	holder, lost := n.all.holder, n.all.lost
	n.all.mu.Unlock()
	delete(others, n.id)
	if to.All {
		for _, f := range others {
			_, _ = f(ctx, append([]byte(method+" "), args...))
		}
		return nil, nil
	}
	f := others[holder]
	if f == nil || to.Lease != "channel:net" {
		return nil, sessions.ErrNoPeer
	}
	got, err := f(ctx, append([]byte(method+" "), args...))
	return got, errors.Join(err, lost)
}

func (n node) Serve(ctx context.Context, f func(context.Context, string, []byte) ([]byte, error)) error {
	n.all.mu.Lock()
	n.all.serve[n.id] = func(ctx context.Context, args []byte) ([]byte, error) {
		i := slices.Index(args, ' ')
		return f(ctx, string(args[:i]), args[i+1:])
	}
	n.all.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (n node) Nodes(context.Context) ([]sessions.Node, error) { return nil, nil }

func (n node) Leave(context.Context) error { return nil }

// beside starts a node that works and does not run the channel.
func (n *nodes) beside(t *testing.T, id string, changes ...change) *world {
	t.Helper()
	w := start(t, append(changes, func(w *world, _ *gateway.Binding, o *gateway.Options) {
		o.Peers = node{n, id}
		held := make(chan struct{})
		go func() {
			_ = w.store.Hold(t.Context(), "channel:net", func(ctx context.Context) error { close(held); <-ctx.Done(); return nil })
		}()
		<-held
		w.net.intake <- nil // it will not run
	})...)
	synctest.Wait() // both answer calls
	return w
}

func newNodes(holder string) *nodes {
	return &nodes{serve: map[string]gateway.Method{}, holder: holder}
}

func (n *nodes) set(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

// arrives stores a message as another node would.
func (w *world) arrives(person, text string) {
	w.t.Helper()
	if _, err := w.store.Accept(w.t.Context(), sessions.Entry{Inbound: w.message(person, text)}); err != nil {
		w.t.Fatal(err)
	}
}

// TestReplyLeavesThroughItsHolder: a turn of one node types, shows previews and
// answers through another node's connection, and knows its state.
func TestReplyLeavesThroughItsHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newNodes("a")
		a := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Peers = node{all, "a"} })
		b := all.beside(t, "b", func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
				turn.Progress(agent.Progress{Text: "half of"})
				return slowEcho(10*time.Second)(ctx, turn)
			}
		})
		if st := b.gw.Channels()["net"]; st.State != channels.StateConnecting {
			t.Errorf("before anybody says so the channel is %+v", st)
		}
		if err, here := b.gw.Ready(), b.gw.ChannelsHere(); err != nil || len(here) > 0 {
			t.Errorf("a node that holds no channel: Ready = %v, ChannelsHere = %v", err, here)
		}
		time.Sleep(3 * time.Second)
		if st := b.gw.Channels()["net"]; st.State != channels.StateConnected || b.gw.Ready() != nil {
			t.Errorf("the channel that the other node holds is %+v", st)
		}
		b.arrives("1", "hello")
		time.Sleep(20 * time.Second)
		a.expect("1", "echo hello")
		b.expect("1")
		if a.net.typed == 0 || len(a.net.previews) == 0 || a.net.sent[0].Edit != "p1" {
			t.Errorf("typed %d times, %d previews, sent %+v", a.net.typed, len(a.net.previews), a.net.sent)
		}
		a.close()
		time.Sleep(10 * time.Second)
		if st := b.gw.Channels()["net"]; st.State != channels.StateDown {
			t.Errorf("the channel that nobody holds any more is %+v", st)
		}
	})
}

// TestNobodyHoldsTheChannel: if no node runs the channel, nothing was sent, and
// the answer is later sent without a mark.
func TestNobodyHoldsTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newNodes("nobody")
		a := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Peers = node{all, "a"} })
		b := all.beside(t, "b")
		b.arrives("1", "hello")
		time.Sleep(10 * time.Second)
		a.expect("1")
		all.set(func() { all.holder = "a" })
		time.Sleep(time.Minute)
		a.expect("1", "echo hello")
	})
}

// TestHolderDiesWhileItSends: then it is uncertain whether the message was
// sent.
func TestHolderDiesWhileItSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newNodes("a")
		all.lost = errors.New("the node died")
		a := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Peers = node{all, "a"} })
		b := all.beside(t, "b")
		b.arrives("1", "hello")
		synctest.Wait()
		a.expect("1", "echo hello")
		all.set(func() { all.lost = nil })
		time.Sleep(time.Minute)
		a.expect("1", "echo hello", channels.RepeatMark+"echo hello")
	})
}

// TestUnknownCall: a call of a newer version is refused before anything begins.
func TestUnknownCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newNodes("a")
		start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
			o.Peers = node{all, "a"}
			o.Methods = map[string]gateway.Method{"feed": func(_ context.Context, args []byte) ([]byte, error) { return args, nil }}
		})
		other := node{all, "b"}
		to := sessions.Peer{Lease: "channel:net"}
		synctest.Wait()
		if got, err := other.Call(t.Context(), to, "feed", []byte("x")); err != nil || string(got) != "x" {
			t.Errorf("Call = %q, %v", got, err)
		}
		if _, err := other.Call(t.Context(), to, "newer", nil); !errors.Is(err, sessions.ErrNoPeer) {
			t.Errorf("Call = %v, want ErrNoPeer", err)
		}
	})
}

// TestChannelLetsGo: a node whose connection another program has taken leaves
// the channel to others for a while, and says why.
func TestChannelLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newNodes("a")
		taken := &takenAway{network: newNetwork("net")}
		w := start(t, func(w *world, b *gateway.Binding, o *gateway.Options) {
			o.Peers = node{all, "a"}
			b.Channel = taken
			taken.network = w.net
		})
		time.Sleep(9 * time.Second)
		if st := w.gw.Channels()["net"]; st.State != channels.StateDown || !strings.Contains(st.Detail, "connected elsewhere") || taken.runs.Load() != 1 {
			t.Errorf("the channel is %+v after %d runs", st, taken.runs.Load())
		}
		if err := w.store.Hold(t.Context(), "channel:net", func(context.Context) error { return nil }); err != nil {
			t.Error(err) // its lease is free
		}
		time.Sleep(2 * time.Second)
		if st := w.gw.Channels()["net"]; st.State != channels.StateConnected || taken.runs.Load() != 2 {
			t.Errorf("the channel is %+v after %d runs", st, taken.runs.Load())
		}
	})
}

// takenAway is a network whose first connection another program takes.
type takenAway struct {
	*network
	runs atomic.Int32
}

func (n *takenAway) Run(ctx context.Context, in channels.Intake) error {
	if n.runs.Add(1) == 1 {
		n.intake <- in
		return fmt.Errorf("net: %w", channels.ErrElsewhere)
	}
	<-ctx.Done()
	return nil
}

// TestRolesOfNodes: a node without turns runs none, and one without channels
// asks for no lease.
func TestRolesOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newNodes("nobody")
		w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
			o.Peers = node{all, "a"}
			o.NoTurns = true
			o.NoChannels = true
			w.net.intake <- nil
		})
		w.arrives("1", "hello")
		time.Sleep(time.Minute)
		if n := w.agent.count(); n != 0 {
			t.Errorf("%d turns ran", n)
		}
		held := false
		if err := w.store.Hold(t.Context(), "channel:net", func(context.Context) error { held = true; return nil }); err != nil || !held {
			t.Errorf("the lease is taken: %v", err)
		}
	})
}

// holds has another node hold a lease, until the test calls release.
func (w *world) holds(lease string) (release func()) {
	held, done := make(chan struct{}), make(chan struct{})
	go func() {
		_ = w.mem.Hold(w.t.Context(), lease, func(context.Context) error { close(held); <-done; return nil })
	}()
	<-held
	return func() { close(done) }
}

// TestSummaryOfAnotherNode: a turn that needs a summary waits for the one that
// another node makes.
func TestSummaryOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Peers = node{newNodes("a"), "a"} })
		w.agent.summarize = func(context.Context, sessions.History) (sessions.Summary, error) {
			t.Error("a second summary is made")
			return sessions.Summary{}, errors.New("no")
		}
		w.say("1", "first")
		w.expect("1", "echo first")
		k := channels.MustKey("net:1")
		release := w.holds("summary:net:1")
		var got sessions.History
		w.agent.run = func(ctx context.Context, turn agent.Turn) (text string, err error) {
			got, err = turn.Compact(ctx, nil)
			return "after it", err
		}
		w.say("1", "second")
		time.Sleep(10 * time.Second)
		w.expect("1", "echo first")
		h, err := w.mem.History(t.Context(), k, sessions.HistoryLimit{})
		if err == nil {
			err = w.mem.AddSummary(t.Context(), k, sessions.Summary{Generation: h.Generation, CoversSeq: 1, Text: "theirs"})
		}
		if err != nil {
			t.Fatal(err)
		}
		release()
		w.expect("1", "echo first", "after it")
		if got.Summary == nil || got.Summary.Text != "theirs" {
			t.Errorf("the turn goes on with %+v", got.Summary)
		}
	})
}

// TestOneNodeDeletes: one node at a time looks for old conversations.
func TestOneNodeDeletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var release func()
		w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
			o.RetentionDays, release = 30, w.holds("retention")
		})
		w.say("1", "hello")
		time.Sleep(40 * 24 * time.Hour)
		if got := w.transcript("1"); len(got) != 2 {
			t.Errorf("beside another node that does it this one deleted a conversation: %q is left", got)
		}
		release()
		time.Sleep(3 * 24 * time.Hour)
		if got := w.transcript("1"); len(got) != 0 {
			t.Errorf("%q is left", got)
		}
	})
}

// formerCall is what a node of a version before labels sends and understands.
type formerCall struct {
	ID, Text, ReplyTo, Edit string
	Key                     channels.Key
	File                    *channels.File
	Attempt                 int
	Uncertain               bool
}

// Nodes of versions before labels run a channel for this node, and this one for them. The
// marks that they know in a text are fields here.
func TestCallsOfFormerNodes(t *testing.T) {
	k := channels.MustKey("net:1")
	for _, test := range []struct {
		name    string
		call    formerCall
		message channels.Outbound
	}{
		{"plain", formerCall{Text: "hello"}, channels.Outbound{Text: "hello"}},
		{"native", formerCall{Text: "\ra\nb"}, channels.Outbound{Text: "a\nb", Form: channels.FormNative}},
		{"rest", formerCall{Text: "<!-- more -->\n\ra\n\rb"}, channels.Outbound{Text: "a\nb", Form: channels.FormRest}},
		{"again", formerCall{Text: "↻ hello", Uncertain: true}, channels.Outbound{Text: "hello", Repeats: true, Uncertain: true}},
		{"native again", formerCall{Text: "↻ \rhello", Uncertain: true}, channels.Outbound{Text: "hello", Form: channels.FormNative, Repeats: true, Uncertain: true}},
		{"an arrow", formerCall{Text: "↻ hello"}, channels.Outbound{Text: "↻ hello"}},
		{"an edit", formerCall{Text: "↻ hello", Edit: "7", Uncertain: true}, channels.Outbound{Text: "↻ hello", Edit: "7", Uncertain: true}},
		{"file", formerCall{Text: "all of it", File: &channels.File{Name: "answer.md"}}, channels.Outbound{Text: "all of it", File: &channels.File{Name: "answer.md"}}},
	} {
		test.call.Key, test.message.Key = k, k
		if got := gateway.ReadCall(t, test.call); !cmp.Equal(test.message, got, cmp.AllowUnexported(channels.Key{})) {
			t.Errorf("%s: a former node's call is read as %+v, want %+v", test.name, got, test.message)
		}
		written := gateway.WriteCall(t, test.message)
		var got formerCall
		if err := json.Unmarshal(written, &got); err != nil || !cmp.Equal(test.call, got, cmp.AllowUnexported(channels.Key{})) {
			t.Errorf("%s: a former node reads %+v, %v, want %+v", test.name, got, err, test.call)
		}
		if got := gateway.ReadCall(t, json.RawMessage(written)); !cmp.Equal(test.message, got, cmp.AllowUnexported(channels.Key{})) {
			t.Errorf("%s: a node of this version reads %+v, want %+v", test.name, got, test.message)
		}
	}
}

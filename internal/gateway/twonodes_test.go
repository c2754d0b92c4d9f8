package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/postgres"
)

// pair is two nodes on one database: front has the channel and no turns, back has
// the turns.
type pair struct{ front, back *world }

// claims decides which claims of a node's store are worked on.
type claims struct {
	gateway.Work
	takes *atomic.Bool
	t     *testing.T
}

func (c claims) Run(ctx context.Context, h sessions.Handler) error {
	return c.Work.Run(ctx, func(ctx context.Context, claim sessions.Claim) error {
		if !c.takes.Load() {
			return errors.New("a test wants another node to have it")
		}
		err := h(ctx, claim)
		if err != nil && strings.Contains(err.Error(), "panicked") {
			c.t.Error(err)
		}
		return err
	})
}

func (w *world) takes(claimsOfNode bool) { w.store.Work.(claims).takes.Store(claimsOfNode) }

// startNode starts a node on the database at url. Each has its own network,
// which runs on the node that has the channel's lease.
func startNode(t *testing.T, url string, takes bool, changes ...change) *world {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, postgres.Options{TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, net: newNetwork("net"), agent: &scripted{run: echo}, mem: s, store: storeOf(s),
		seen: &counter{}, ended: make(chan error, 1),
	}
	w.store.Work = claims{s, &atomic.Bool{}, t}
	w.takes(takes)
	b := gateway.Binding{Channel: w.net, Policy: people.Policy{Allow: []string{"1"}, Pairing: true}}
	o := gateway.Options{Observer: w.seen, Logger: slog.New(slog.DiscardHandler), Limits: gateway.Limits{RatePerMinute: -1, TypingAfter: time.Millisecond}, Node: gateway.Node{Peers: s.Backend().(sessions.Peers)}}
	for _, c := range changes {
		c(w, &b, &o)
	}
	var ag gateway.Agent = w.agent
	if w.real != nil {
		ag = w.real
	}
	w.gw, err = gateway.New(w.store, ag, []gateway.Binding{b}, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.stop = cancel
	go func() { w.ended <- w.gw.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-w.ended; err != nil {
			t.Errorf("Run = %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return w
}

// freshDatabase is the url of a new database.
func freshDatabase(t *testing.T) string {
	t.Helper()
	const name = "gateway"
	if url, fresh := pgtest.Template(t, name); fresh {
		s, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return pgtest.Database(t, name, "")
}

func startPair(t *testing.T, changes ...change) pair {
	t.Helper()
	url := freshDatabase(t)
	p := pair{front: startNode(t, url, false, changes...)}
	p.front.in = <-p.front.net.intake // it has the channel
	p.back = startNode(t, url, true, changes...)
	return p
}

// eventually waits until the messages in chat 1 satisfy done.
func (p pair) eventually(what string, done func(sent []string) bool) {
	p.front.t.Helper()
	if !testkit.Poll(time.Minute, func() bool { return done(p.front.net.texts("1")) }) {
		p.front.t.Fatalf("%s: sent %q", what, p.front.net.texts("1"))
	}
}

func (p pair) gets(want ...string) {
	p.front.t.Helper()
	p.eventually(fmt.Sprintf("want %q", want), func(sent []string) bool { return slices.Equal(sent, want) })
}

// writing is an agent that has written half of its answer, until its turn ends
// or released is closed. begun counts its turns.
func (w *world) writing(released chan struct{}) (begun *atomic.Int32) {
	begun = &atomic.Int32{}
	w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
		turn.Progress(agent.Progress{Text: "half of"})
		begun.Add(1)
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-released:
			return echo(ctx, turn)
		}
	}
	return begun
}

func until(t *testing.T, n *atomic.Int32, want int32) {
	t.Helper()
	if !testkit.Poll(time.Minute, func() bool { return n.Load() >= want }) {
		t.Fatalf("%d turns have begun, want %d", n.Load(), want)
	}
}

// A stop reaches the turn on the other node: its text so far replaces the
// preview, and is kept.
func TestStopOfATurnElsewhere(t *testing.T) {
	p := startPair(t)
	p.back.writing(nil)
	p.front.say("1", "hello")
	if !testkit.Poll(time.Minute, func() bool {
		p.front.net.mu.Lock()
		defer p.front.net.mu.Unlock()
		return len(p.front.net.previews) > 0
	}) {
		t.Fatal("no preview came")
	}
	p.front.say("1", "/stop")
	p.gets("half of\n\n*(stopped)*")
	if edit := p.front.net.sent[0].Edit; edit != "p1" {
		t.Errorf("the answer edits %q, want the preview", edit)
	}
	h, err := p.front.store.History(t.Context(), channels.MustKey("net:1"), sessions.HistoryLimit{})
	if err != nil || len(h.Messages) != 2 || h.Messages[1].Content != "half of\n\n[stopped by the person]" {
		t.Errorf("History = %+v, %v", h.Messages, err)
	}
}

// Replies to commands are sent at once while a turn runs on another node.
func TestRepliesBesideATurnElsewhere(t *testing.T) {
	p := startPair(t)
	released := make(chan struct{})
	begun := p.back.writing(released)
	p.front.say("1", "hello")
	until(t, begun, 1)
	p.front.say("1", "/status")
	p.eventually("want the status", func(sent []string) bool {
		return len(sent) > 0 && strings.Contains(sent[0], "I have been writing an answer for ")
	})
	if err := p.front.gw.Tell(t.Context(), channels.MustKey("net:1"), "a", "a notice"); err != nil {
		t.Fatal(err)
	}
	p.eventually("want the notice", func(sent []string) bool { return len(sent) == 2 && sent[1] == "a notice" })
	close(released)
	p.eventually("want the answer", func(sent []string) bool { return len(sent) == 3 && sent[2] == "echo hello" })
}

// A message joins the turn that runs elsewhere.
func TestSteerATurnElsewhere(t *testing.T) {
	p := startPair(t, withQueue(gateway.Steer))
	var begun atomic.Int32
	p.back.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
		begun.Add(1)
		for {
			joined, err := turn.Steer(ctx)
			if err != nil || len(joined) > 0 {
				return fmt.Sprint("joined: ", joined[0].Content), err
			}
			if !sleepFor(ctx, 10*time.Millisecond) {
				return "", ctx.Err()
			}
		}
	}
	p.front.say("1", "hello")
	until(t, &begun, 1)
	p.front.say("1", "and this")
	p.gets("joined: and this")
}

func sleepFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// A message interrupts the turn that runs elsewhere.
func TestInterruptATurnElsewhere(t *testing.T) {
	p := startPair(t, withQueue(gateway.Interrupt), func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.TypingAfter = time.Hour })
	released := make(chan struct{})
	begun := p.back.writing(released)
	p.front.say("1", "hello")
	until(t, begun, 1)
	p.front.say("1", "and this")
	until(t, begun, 2)
	close(released)
	p.gets("echo hello | and this")
}

// A turn on another node ends when its message is deleted or edited.
func TestTakeBackFromATurnElsewhere(t *testing.T) {
	p := startPair(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.TypingAfter = time.Hour })
	released := make(chan struct{})
	begun := p.back.writing(released)
	m := p.front.say("1", "hello")
	until(t, begun, 1)
	p.front.takeBack(m, channels.DeletedBySender)
	if !testkit.Poll(time.Minute, func() bool { return p.back.seen.get("turn interrupted") == 1 }) {
		t.Fatal("the turn goes on")
	}
	m = p.front.say("1", "helo")
	until(t, begun, 2)
	p.front.accept(p.front.edit(m, "hello"))
	until(t, begun, 3)
	close(released)
	p.gets("echo hello")
}

// Whoever writes on the pages of two nodes has one limit.
func TestRateOverNodes(t *testing.T) {
	p := startPair(t, func(_ *world, b *gateway.Binding, o *gateway.Options) {
		b.Everywhere, o.RatePerMinute = true, 3
	})
	p.back.in = <-p.back.net.intake
	front := p.front.mem.Backend().(sessions.Peers)
	testkit.Eventually(t, "the other node answers", func() bool {
		nodes, err := front.Nodes(t.Context())
		i := slices.IndexFunc(nodes, func(n sessions.Node) bool { return !n.Self })
		if err == nil && i >= 0 {
			_, err = front.Call(t.Context(), sessions.Peer{Node: nodes[i].ID}, "delivery.outcome", []byte(`"none"`))
		}
		return err == nil && i >= 0
	})
	for range 3 {
		p.front.say("1", "hello")
	}
	testkit.Eventually(t, "the other node counts", func() bool { return gateway.Left(p.back.gw, "net 1") < 1 })
	p.back.say("1", "hello")
	if got := p.back.seen.get("accepted net over_limit"); got != 1 {
		t.Errorf("of four messages %d were over a limit of three", got)
	}
}

// A message that is edited while its answer is shown is answered again, in the
// same message, also if the turn ends before its node hears of the edit.
func TestEditOfWhatATurnElsewhereShows(t *testing.T) {
	p := startPair(t)
	released := make(chan struct{})
	p.back.writing(released)
	m := p.front.say("1", "helo")
	if !testkit.Poll(time.Minute, func() bool {
		running, err := p.front.mem.Running(t.Context(), m.Key)
		return err == nil && len(running.Steps) == 1
	}) {
		t.Fatal("no preview is journaled")
	}
	p.front.accept(p.front.edit(m, "hello"))
	close(released)
	p.gets("echo hello")
	if edit := p.front.net.sent[0].Edit; edit != "p1" {
		t.Errorf("the answer edits %q, want the preview", edit)
	}
}

// A stop cancels the rest of an answer that another node delivers, and its
// reply overtakes it.
func TestStopOfADeliveryElsewhere(t *testing.T) {
	p := startPair(t, func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = paced{w.net} })
	p.back.agent.run = func(context.Context, agent.Turn) (string, error) { return strings.Repeat("line\n", 40), nil }
	one, arrived := make(chan struct{}), make(chan struct{}, 1)
	p.front.net.slow = func(ctx context.Context) error {
		select {
		case arrived <- struct{}{}:
		default:
		}
		select {
		case <-one:
		case <-ctx.Done():
		}
		return nil
	}
	p.front.say("1", "hello")
	one <- struct{}{}
	one <- struct{}{}
	<-arrived
	p.front.say("1", "/stop")
	close(one)
	p.eventually("want the stop", func(sent []string) bool { return len(sent) > 0 && sent[len(sent)-1] == "Stopped." })
	if !testkit.Poll(time.Minute, func() bool { return p.back.seen.get("delivered net dropped") >= 37 }) {
		t.Errorf("%d pieces were dropped, want all that were left", p.back.seen.get("delivered net dropped"))
	}
	if sent := p.front.net.texts("1"); len(sent) > 5 {
		t.Errorf("sent %q", sent)
	}
}

// A person is let in through one node, and the node that has their messages
// tells them.
func TestLetInElsewhere(t *testing.T) {
	p := startPair(t)
	p.front.say("77", "let me in")
	var sent []string
	testkit.Poll(time.Minute, func() bool { sent = p.front.net.texts("77"); return len(sent) == 1 })
	if len(sent) != 1 {
		t.Fatalf("sent %q, want a code", sent)
	}
	code := strings.Split(sent[0], "**")[1]
	if _, err := p.back.gw.ApprovePairing(t.Context(), code, time.Now()); err != nil {
		t.Fatal(err)
	}
	if !testkit.Poll(time.Minute, func() bool {
		sent = p.front.net.texts("77")
		return len(sent) == 3 && sent[1] == "You may write now." && sent[2] == "echo let me in"
	}) {
		t.Errorf("sent %q", sent)
	}
}

// A claim that begins while another node sends a message waits for that node's
// outcome, and does not send the message again. Its own node may not have the
// channel.
func TestOutcomeFromElsewhere(t *testing.T) {
	for name, tt := range map[string]struct{ arrives, both bool }{"arrived": {true, true}, "did not": {false, true}, "arrived, one has the channel": {true, false}} {
		t.Run(name, func(t *testing.T) {
			nodes := 0
			p := startPair(t, func(_ *world, b *gateway.Binding, _ *gateway.Options) {
				nodes++
				if nodes == 2 && !tt.both {
					b.Channel = newNetwork("other")
				}
			})
			p.front.takes(true)
			p.back.takes(false)
			sending, end := make(chan struct{}), make(chan struct{})
			var once sync.Once
			p.front.net.slow = func(context.Context) (err error) {
				once.Do(func() {
					close(sending)
					<-end
					if !tt.arrives {
						err = &channels.NotSent{Err: errors.New("away")}
					}
				})
				return err
			}
			p.front.say("1", "hello")
			<-sending
			p.front.takes(false)
			p.back.takes(true)
			// What fences the claim, as /new and a join do.
			m := p.front.message("1", "/new")
			if _, err := p.front.store.Accept(t.Context(), sessions.Entry{Inbound: m, Answered: true, Control: sessions.ControlNew, Replies: []sessions.Reply{{Text: "anew"}}}); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Second, func() { close(end) })
			if !tt.both {
				const sent = "delivered net sent"
				if !testkit.Poll(time.Minute, func() bool { return p.back.seen.get(sent) == 1 }) {
					t.Errorf("the other node recorded %d messages as sent, want 1", p.back.seen.get(sent))
				}
				return
			}
			p.gets("echo hello", "anew")
			if n := p.back.seen.get("repeated net") + p.front.seen.get("repeated net"); n != 0 {
				t.Errorf("%d messages were sent again with a mark", n)
			}
		})
	}
}

// A question that one node accepts and another answers: whoever waits is woken by the end
// of that turn.
func TestAskOfATurnElsewhere(t *testing.T) {
	p := startPair(t)
	released := make(chan struct{})
	begun := p.back.writing(released)
	answered := make(chan string, 1)
	go func() {
		got, err := p.front.gw.Ask(t.Context(), gateway.Question{Key: channels.MustKey("net:1"), ID: "q", Text: "hello"})
		answered <- fmt.Sprint(got, " ", err)
	}()
	until(t, begun, 1)
	close(released)
	p.eventually("the answer", func(sent []string) bool { return len(sent) == 1 })
	sent := time.Now()
	got := <-answered
	if want := p.front.net.texts("1")[0] + " <nil>"; got != want {
		t.Errorf("Ask = %q, want %q", got, want)
	}
	if late := time.Since(sent); late > 2*time.Second {
		t.Errorf("Ask returns %s after the answer was sent, want that it is woken", late)
	}
}

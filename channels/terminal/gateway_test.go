package terminal_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/channels/live/livetest"
	"dragoman/channels/terminal"
	"dragoman/internal/testkit"
)

// gateway is a small daemon on a unix socket. It stores messages, answers word by word as
// script says, and can be stopped and restarted.
type gateway struct {
	t      *testing.T
	socket string
	script func(string) string
	pace   time.Duration
	client *live.Client
	feed   livetest.Feed
	watch  atomic.Bool // somebody has watched the room

	mu    sync.Mutex
	ch    *live.Hub
	turns []context.CancelFunc
	half  string   // of the answer that is being written
	full  error    // what Accept returns; nil: it stores
	form  []string // what a server asks after each answer, and last what thanks for them
	down  func()
	work  sync.WaitGroup
}

func newGateway(t *testing.T, script func(string) string) *gateway {
	t.Helper()
	g := &gateway{t: t, socket: filepath.Join(t.TempDir(), "s"), script: script, pace: 5 * time.Millisecond}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", g.socket)
	}}
	g.client = &live.Client{HTTP: &http.Client{Transport: watching{transport, &g.watch}}, URL: "http://dragoman" + terminal.Path}
	g.up()
	t.Cleanup(func() {
		g.down()
		g.stopTurns()
		g.work.Wait()
		transport.CloseIdleConnections()
	})
	return g
}

// watching notes that a stream of events has begun.
type watching struct {
	*http.Transport
	begun *atomic.Bool
}

func (w watching) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.Transport.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/events") {
		w.begun.Store(true)
	}
	return resp, err
}

func (g *gateway) up() {
	g.t.Helper()
	l, err := net.Listen("unix", g.socket)
	if err != nil {
		g.t.Fatal(err)
	}
	ch, err := live.New(live.Options{Name: "cli", Room: terminal.Room, Feed: g.feed.Read, Visitor: livetest.Alone})
	if err != nil {
		g.t.Fatal(err)
	}
	ch.SetCommands(channels.Menu{Operator: []channels.Command{{Name: "help"}, {Name: "new"}, {Name: "status"}, {Name: "stop"}}})
	srv := &http.Server{Handler: http.StripPrefix(terminal.Path, ch.Handler())}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = ch.Run(ctx, g) })
	wg.Go(func() { _ = srv.Serve(l) })
	g.mu.Lock()
	g.ch = ch
	g.mu.Unlock()
	testkit.Eventually(g.t, "the channel to run", func() bool { return ch.Status().State == channels.StateConnected })
	g.down = sync.OnceFunc(func() {
		cancel()
		_ = srv.Close()
		wg.Wait()
	})
}

func (g *gateway) put(it live.Item) { g.feed.Put(it) }

// Accept stores m once and answers it: commands at once, the rest by a turn. It finally
// refuses messages that begin with "refuse".
func (g *gateway) Accept(_ context.Context, m channels.Inbound) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.full != nil {
		return g.full
	}
	command := strings.HasPrefix(m.Text, "/")
	if !command && len(g.form) > 0 {
		if g.feed.Put(live.Item{ID: m.ID, From: live.FromPerson, Text: m.Text, At: m.At}) {
			g.form = g.form[1:]
			g.askNext(m.Key)
		}
		return nil
	}
	if strings.HasPrefix(m.Text, "refuse") || !g.feed.Put(live.Item{ID: m.ID, From: live.FromPerson, Text: m.Text, At: m.At, Waiting: !command}) {
		return nil
	}
	if command {
		if m.Text == "/stop" {
			for _, stop := range g.turns {
				stop()
			}
		}
		text := "Done: " + m.Text
		if m.Text == "/stop" && g.half != "" {
			text = g.half + "\n\n*(stopped)*"
		}
		if m.Text != "/stop" && g.form != nil { // the turn goes on
			g.reply(m.Key, text, "")
			return nil
		}
		g.half = ""
		g.finish(m.Key, text, "")
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.turns = append(g.turns, cancel)
	g.work.Go(func() { g.turn(ctx, m) })
	return nil
}

func (g *gateway) Quarantine(context.Context, string, string, []byte, error) error { return nil }

func (g *gateway) stopTurns() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, cancel := range g.turns {
		cancel()
	}
}

// hasBegun reports whether a turn has shown some words of its answer.
func (g *gateway) hasBegun() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.half != ""
}

func (g *gateway) channel() *live.Hub {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ch
}

// turn shows a note, then the answer word by word, then sends it.
func (g *gateway) turn(ctx context.Context, m channels.Inbound) {
	answer := g.script(m.Text)
	id := ""
	for range strings.Count(m.Text, "tool") { // calls that no preview notes
		g.channel().ToolBegun(m.Key, m.ID, "recall")
	}
	g.channel().ToolBegun(m.Key, m.ID, "web_fetch") // and one that the first preview notes
	p := channels.Preview{Key: m.Key, Turn: m.ID, Note: "web_fetch …"}
	for _, word := range append([]string{""}, strings.SplitAfter(answer, " ")...) {
		if word != "" {
			p.Note, p.Text = "", p.Text+word
			g.mu.Lock()
			g.half = p.Text
			g.mu.Unlock()
		}
		if got, err := g.channel().Preview(ctx, p); err == nil {
			id = got
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(g.pace):
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.half = ""
	g.finish(m.Key, answer, id)
}

// finish commits and delivers the answer. The caller holds g.mu.
func (g *gateway) finish(k channels.Key, text, edit string) {
	g.feed.Answered()
	g.reply(k, text, edit)
}

// reply delivers text. The caller holds g.mu.
func (g *gateway) reply(k channels.Key, text, edit string) {
	out := channels.Outbound{ID: fmt.Sprintf("out-%d", len(g.feed.Items())), Key: k, Text: text, Edit: edit, Attempt: 1}
	if strings.HasPrefix(text, "Sorry, ") {
		out.Kind = channels.KindApology
	}
	g.feed.Put(live.Item{ID: out.ID, From: live.FromDragoman, Text: text, Failed: out.Kind == channels.KindApology})
	g.work.Go(func() { _, _ = g.channel().Send(context.Background(), out) }) // while it is down the feed has it
}

// turnGoesOn has commands end no turn.
func (g *gateway) turnGoesOn() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.form = []string{}
}

// ask puts a question while a turn waits for its answer.
func (g *gateway) ask(text, id string) {
	out := channels.Outbound{
		ID: "question/" + id, Key: channels.MustKey("cli:" + terminal.Room), Text: text, Kind: channels.KindQuestion, Attempt: 1,
		Choices: []channels.Choice{{Label: "Allow once", Command: "allow", Subject: id}},
	}
	g.feed.Put(live.Item{ID: out.ID, From: live.FromDragoman, Text: text, Asks: id})
	if _, err := g.channel().Send(context.Background(), out); err != nil {
		g.t.Error(err)
	}
}

// askForm puts a server's questions one after the other, while a turn waits for the answers,
// and thanks with the last of them.
func (g *gateway) askForm(questions ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.form = questions
	g.askNext(channels.MustKey("cli:" + terminal.Room))
}

// askNext asks the first question of the form. The caller holds g.mu.
func (g *gateway) askNext(k channels.Key) {
	out := channels.Outbound{ID: "form/" + g.form[0], Key: k, Text: g.form[0], Kind: channels.KindForm, Attempt: 1}
	if len(g.form) == 1 {
		g.form = nil
		out.Kind = channels.KindCommand
	}
	g.feed.Put(live.Item{ID: out.ID, From: live.FromDragoman, Text: out.Text, Wants: out.Kind == channels.KindForm})
	g.work.Go(func() { _, _ = g.channel().Send(context.Background(), out) })
}

// said returns the person's messages as the daemon stored them.
func (g *gateway) said() []string {
	var texts []string
	for _, it := range g.feed.Items() {
		if it.From == live.FromPerson {
			texts = append(texts, it.Text)
		}
	}
	return texts
}

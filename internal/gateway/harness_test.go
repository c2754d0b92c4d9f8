package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		pgtest.Stop()
		os.Exit(code)
	}))
}

// network is a chat network in memory: it records what was sent and fails on
// demand. It has typing and previews, with a message id each.
type network struct {
	name string
	mu   sync.Mutex
	sent []channels.Outbound
	// fail, if not nil, decides about each Send.
	fail func(channels.Outbound) error
	// slow, if not nil, takes its time before each Send, and may end it.
	slow      func(context.Context) error
	previews  []channels.Preview
	retracted []string
	typed     int
	// previewTakes is how long the network takes to show a preview.
	previewTakes time.Duration
	thinks       bool // it shows thoughts
	intake       chan channels.Intake
}

func newNetwork(name string) *network {
	return &network{name: name, intake: make(chan channels.Intake, 1)}
}

func (n *network) Name() string { return n.name }

func (n *network) Run(ctx context.Context, in channels.Intake) error {
	n.intake <- in
	<-ctx.Done()
	return nil
}

func (n *network) Send(ctx context.Context, m channels.Outbound) (channels.Receipt, error) {
	if n.slow != nil {
		if err := n.slow(ctx); err != nil {
			return channels.Receipt{}, err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail != nil {
		if err := n.fail(m); err != nil {
			return channels.Receipt{}, err
		}
	}
	n.sent = append(n.sent, m)
	return channels.Receipt{MessageID: fmt.Sprint("m", len(n.sent))}, nil
}

func (n *network) Typing(context.Context, channels.Key) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.typed++
	return nil
}

func (n *network) Preview(_ context.Context, p channels.Preview) (string, error) {
	time.Sleep(n.previewTakes)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.previews = append(n.previews, p)
	if p.MessageID != "" {
		return p.MessageID, nil
	}
	return "p1", nil
}

// Retract takes back p1, the only preview there is.
func (n *network) Retract(_ context.Context, _ channels.Key, id string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.retracted = append(n.retracted, id)
	return nil
}

func (n *network) ShowsThoughts() bool { return n.thinks }

func (n *network) PreviewEvery() time.Duration { return time.Second }

func (n *network) failWith(f func(channels.Outbound) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fail = f
}

// texts are the sent texts of one chat, in order.
func (n *network) texts(chat string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for _, m := range n.sent {
		if m.Key.Chat() == chat {
			all = append(all, m.Text)
		}
	}
	return all
}

// scripted is an agent whose turns are a function.
type scripted struct {
	mu        sync.Mutex
	run       func(context.Context, agent.Turn) (string, error)
	turns     []agent.Turn
	needs     func(sessions.History) bool
	summarize func(context.Context, sessions.History) (sessions.Summary, error)
	can       bool // a person may ask for a summary
	audit     func(agent.Turn)
	by        string                // the model that says it answered
	files     []channels.Attachment // what a tool sends with the answer
	ended     agent.Result          // how a turn ended, beside its text: Finish, Thought, Unaccounted
}

func (s *scripted) Run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	if s.audit != nil {
		s.audit(t)
	}
	s.mu.Lock()
	s.turns = append(s.turns, t)
	run := s.run
	s.mu.Unlock()
	text, err := run(ctx, t)
	if err != nil {
		return agent.Result{}, err
	}
	msgs := append([]sessions.Message{}, t.Input...)
	last := sessions.Message{Role: sessions.RoleAssistant, Content: text, Model: s.by}
	if text == "" {
		last.Content, last.Synthetic = "(no words)", true // as the agent does
	}
	if len(s.files) > 0 {
		msgs = append(msgs, sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "c1", Name: "send_file", Arguments: "{}"}}},
			sessions.Message{Role: sessions.RoleTool, Name: "send_file", ToolCallID: "c1", Content: "sent", Turn: t.ID, Attachments: s.files})
	}
	msgs = append(msgs, last)
	res := s.ended
	res.Messages = msgs
	res.Text = text
	res.Steps = 1
	return res, nil
}

// asked are its turns so far.
func (s *scripted) asked() []agent.Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.turns)
}

func (s *scripted) Compaction() window.Compaction { return window.Compaction{When: window.WhenAuto} }

func (s *scripted) Level(h sessions.History) recap.Level {
	switch {
	case s.needs != nil && s.needs(h):
		return recap.Due
	case s.can:
		return recap.Possible
	}
	return recap.Nothing
}

func (s *scripted) Fill(h sessions.History) (tokens, limit int) { return s.Tokens(h), 1000 }

// Tokens counts characters.
func (s *scripted) Tokens(h sessions.History) int {
	n := 0
	if h.Summary != nil {
		n = len(h.Summary.Text)
	}
	for _, m := range h.Messages {
		n += len(m.Content)
	}
	return n
}

func (s *scripted) Summarize(ctx context.Context, h sessions.History, _ *window.Keep) (sessions.Summary, error) {
	return s.summarize(ctx, h)
}

func (s *scripted) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.turns)
}

// inputs are the texts that a turn was asked to answer.
func inputs(t agent.Turn) string {
	var all []string
	for _, m := range t.Input {
		all = append(all, m.Content)
	}
	return strings.Join(all, " | ")
}

// echo answers at once with what it was asked.
func echo(_ context.Context, t agent.Turn) (string, error) { return "echo " + inputs(t), nil }

// slowEcho answers after d.
func slowEcho(d time.Duration) func(context.Context, agent.Turn) (string, error) {
	return func(ctx context.Context, t agent.Turn) (string, error) {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(d):
			return echo(ctx, t)
		}
	}
}

// counter is an observer that counts.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(what ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = make(map[string]int)
	}
	c.n[strings.Join(what, " ")]++
}

func (c *counter) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.n)
}

func (c *counter) get(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[what]
}

func (c *counter) Accepted(ch, o string)                { c.add("accepted", ch, o) }
func (c *counter) Quarantined(ch string)                { c.add("aside", ch) }
func (c *counter) Phase(string, time.Duration)          {}
func (c *counter) TurnEnded(o string, _ time.Duration)  { c.add("turn", o) }
func (c *counter) Delivered(ch, o string)               { c.add("delivered", ch, o) }
func (c *counter) Repeated(ch string)                   { c.add("repeated", ch) }
func (c *counter) Summarized(o string, _ time.Duration) { c.add("summary", o) }
func (c *counter) Unaccounted(n int, said bool) {
	c.add("unaccounted")
	c.add("unaccounted", fmt.Sprint(n), fmt.Sprint(said))
}
func (c *counter) Heartbeat(j, o string) { c.add("heartbeat", j, o) }

// world is a gateway with one network "net" on a store of sqlitetest. Everybody
// with an id of "1" to "9" may talk.
type world struct {
	t     *testing.T
	net   *network
	agent *scripted
	real  gateway.Agent // not nil: instead of agent
	store gateway.Store
	mem   *sqlitetest.Store
	seen  *counter
	gw    *gateway.Gateway
	in    channels.Intake
	stop  context.CancelFunc
	ended chan error
	n     int
}

// storeOf is all of s for a gateway.
func storeOf(s *sqlitetest.Store) gateway.Store {
	return gateway.Store{Inbox: s, Work: s, Outbox: s, Conversations: s, People: s, Leases: s, Records: s}
}

type change func(*world, *gateway.Binding, *gateway.Options)

// start builds and runs a world inside a synctest bubble; it ends with the test.
func start(t *testing.T, changes ...change) *world {
	t.Helper()
	mem := sqlitetest.Open(t, nil)
	w := &world{
		t: t, net: newNetwork("net"), agent: &scripted{run: echo}, mem: mem, store: storeOf(mem),
		seen: &counter{}, ended: make(chan error, 1),
	}
	w.agent.audit = w.accountedFor
	b := gateway.Binding{Channel: w.net, Policy: people.Policy{Allow: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}}}
	opts := gateway.Options{Observer: w.seen, Logger: slog.New(slog.DiscardHandler), Limits: gateway.Limits{RatePerMinute: -1, SilentFor: 1000 * time.Hour}}
	for _, c := range changes {
		c(w, &b, &opts)
	}
	var ag gateway.Agent = w.agent
	if w.real != nil {
		ag = w.real
	}
	gw, err := gateway.New(w.store, ag, []gateway.Binding{b}, opts)
	if err != nil {
		t.Fatal(err)
	}
	w.gw = gw
	ctx, cancel := context.WithCancel(t.Context())
	w.stop = cancel
	go func() { w.ended <- gw.Run(ctx) }()
	w.in = <-w.net.intake
	t.Cleanup(func() {
		w.close()
		if n := w.seen.get("unaccounted"); n != 0 {
			t.Errorf("requests of %d turns passed over messages in silence", n)
		}
		if err := mem.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return w
}

// accountedFor checks, independently of the agent, that a turn has all of its
// conversation in view, under a summary, or counted as left out.
func (w *world) accountedFor(turn agent.Turn) {
	h := turn.History
	if h.Generation == "" {
		return // empty, or a job's
	}
	whole, err := w.mem.History(context.Background(), turn.Key, sessions.HistoryLimit{})
	if err != nil || whole.Generation != h.Generation {
		return // a /new came in between
	}
	covered := int64(0)
	if h.Summary != nil {
		covered = h.Summary.CoversSeq
	}
	shown := make(map[int64]bool)
	for _, m := range h.Messages {
		shown[m.Seq] = true
	}
	missing := -h.Omitted
	for _, m := range whole.Messages {
		if m.Seq > covered && !shown[m.Seq] {
			missing++
		}
	}
	if missing > 0 {
		w.t.Errorf("the turn %s passes over %d messages in silence", turn.ID, missing)
	}
}

// close ends the world and waits for it. It may be called twice.
func (w *world) close() {
	w.t.Helper()
	w.stop()
	select {
	case err := <-w.ended:
		if err != nil {
			w.t.Errorf("Run returned %v", err)
		}
		w.ended <- nil
	case <-time.After(time.Hour):
		w.t.Fatal("Run did not return")
	}
}

// message is a private message of person (who is also the chat).
func (w *world) message(person, text string) channels.Inbound {
	w.n++
	key, err := channels.NewKey("net", person)
	if err != nil {
		w.t.Fatal(err)
	}
	return channels.Inbound{
		Key: key, ID: fmt.Sprint("u", w.n), MessageID: fmt.Sprint("n", w.n),
		Sender: channels.Person{IDs: []string{person}, Name: "P" + person}, Text: text, Private: true,
	}
}

// say hands in a private message and fails the test if it is not accepted.
func (w *world) say(person, text string) channels.Inbound {
	w.t.Helper()
	m := w.message(person, text)
	if err := w.in.Accept(w.t.Context(), m); err != nil {
		w.t.Fatalf("Accept(%q) = %v", clip(text), err)
	}
	return m
}

// talk says n messages in chat 1, each when nothing moves any more.
func (w *world) talk(n int) {
	w.t.Helper()
	for i := range n {
		w.say("1", fmt.Sprint("message ", i))
		synctest.Wait()
	}
}

// expect waits until nothing moves any more and compares what chat was sent.
func (w *world) expect(chat string, want ...string) {
	w.t.Helper()
	synctest.Wait()
	got := w.net.texts(chat)
	if len(got) != len(want) {
		w.t.Fatalf("chat %s was sent %d messages %q, want %q", chat, len(got), got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			w.t.Errorf("chat %s message %d = %q, want %q", chat, i, got[i], want[i])
		}
	}
}

// transcript is a chat in the store, one "role: content" a message.
func (w *world) transcript(chat string) []string {
	w.t.Helper()
	msgs, err := w.mem.Messages(w.t.Context(), channels.MustKey("net:"+chat), 0, 1000)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		w.t.Fatal(err)
	}
	var all []string
	for _, m := range msgs {
		all = append(all, string(m.Role)+": "+m.Content)
	}
	return all
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40]
	}
	return s
}

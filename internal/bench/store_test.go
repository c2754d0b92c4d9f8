package bench_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
	"dragoman/internal/testkit"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"
)

// stored is what the big store holds: a million messages in all.
var stored = history{conversations: 10_000, pairs: 50, long: 100_000}

// storeReport is what TestBenchStore measured.
type storeReport struct {
	database           int64
	built, took        time.Duration
	fsync              time.Duration
	accept, load, list []time.Duration
	pages              []time.Duration // of fifty, anywhere in the list
	who                []time.Duration // wrote on the channel
	writers            int
	long, new          []time.Duration // whole turns in the process
	ratio              float64
	starts             []started
	hash               time.Duration
	otherCores         float64
}

// started is what starts on a store of so many conversations took.
type started struct {
	conversations  int
	opened, polled []time.Duration
}

// TestBenchStore measures the store with a long past, in this process, and the
// start of the real binary on stores of different sizes.
func TestBenchStore(t *testing.T) {
	if os.Getenv("DRAGOMAN_BENCH") != "1" {
		t.Skip("measures for a minute; run it with: make bench-store")
	}
	if os.Getenv("DRAGOMAN_STORE") == "file" {
		t.Skip("the store of files is measured by TestBenchStoreFiles")
	}
	began := time.Now()
	cpu := machineCPU() - ownCPU()
	r := &storeReport{fsync: fsync(t), hash: hash()}
	state := past(t, stored)
	r.built = time.Since(began)
	r.database = size(t, state)
	measureStarts(t, build(t), state, r)
	store, err := sqlite.Open(t.Context(), filepath.Join(state, "dragoman.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	measureStore(t, store, r)
	measureTurns(t, state, r)
	r.took = time.Since(began)
	r.otherCores = max((machineCPU()-ownCPU()-cpu).Seconds()/r.took.Seconds(), 0)
	t.Logf("\n%s", r)
	if path := os.Getenv("DRAGOMAN_REPORT"); path != "" && !t.Failed() {
		if err := writeSection(path, "store", "make bench-store", r.String()); err != nil {
			t.Error(err)
		}
	}
}

// measureStarts: the number of stored conversations must not matter to a start.
func measureStarts(t *testing.T, bin, big string, r *storeReport) {
	const rounds = 11
	r.starts = []started{{conversations: 0}, {conversations: 1000}, {conversations: stored.conversations}}
	states := []string{
		filepath.Join(t.TempDir(), "state"),
		past(t, history{conversations: 1000, pairs: stored.pairs, long: 1}), big,
	}
	houses := make([]*house, len(states))
	for i, state := range states {
		houses[i] = newHouse(t, bin, plan{state: state})
	}
	for range rounds {
		for i, h := range houses {
			d := h.start()
			r.starts[i].polled = append(r.starts[i].polled, d.polled)
			d.stop()
			began := time.Now()
			store, err := sqlite.Open(t.Context(), filepath.Join(states[i], "dragoman.db"), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r.starts[i].opened = append(r.starts[i].opened, time.Since(began))
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range r.starts {
		slices.Sort(r.starts[i].polled)
		slices.Sort(r.starts[i].opened)
	}
}

// storeOf is all of s for a gateway.
func storeOf(s *engine.Store) gateway.Store {
	return gateway.Store{Inbox: s, Work: s, Outbox: s, Conversations: s, People: s, Leases: s, Records: s}
}

// measureStore times single operations, each on a conversation chosen at
// random, one after the other. It closes the store.
func measureStore(t *testing.T, store *engine.Store, r *storeReport) {
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	dice := rand.New(rand.NewPCG(1, 2))
	someone := func() channels.Key {
		return channels.MustKey(fmt.Sprintf("telegram:%d", 1_000_001+dice.IntN(stored.conversations)))
	}
	const times = 3000
	clock := func(out *[]time.Duration, f func(n int)) {
		for n := range times {
			began := time.Now()
			f(n)
			*out = append(*out, time.Since(began))
		}
		slices.Sort(*out)
	}
	clock(&r.accept, func(n int) {
		_, err := store.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{
			Key: someone(), ID: fmt.Sprintf("bench %d", n), MessageID: fmt.Sprint(1_000_000 + n), At: time.Now(),
			Sender: channels.Person{IDs: []string{"1"}, Name: "Ann"}, Text: "And what do you know about the number after that one?",
		}})
		if err != nil {
			t.Fatal(err)
		}
	})
	clock(&r.load, func(int) {
		h, err := store.History(t.Context(), someone(), sessions.HistoryLimit{Messages: 400, Bytes: 2 << 20})
		if err != nil || len(h.Messages) != 2*stored.pairs {
			t.Fatalf("History = %d messages, %v", len(h.Messages), err)
		}
	})
	clock(&r.list, func(int) { r.page(t, store, nil) })
	places := []*sessions.Cursor{nil}
	for len(places) < 20 {
		last := r.page(t, store, places[len(places)-1])
		places = append(places, &last)
	}
	clock(&r.pages, func(int) { r.page(t, store, places[dice.IntN(len(places))]) })
	for range 3 {
		began := time.Now()
		list, err := store.Writers(t.Context(), "telegram")
		if err != nil || len(list) < stored.conversations {
			t.Fatalf("Writers = %d, %v", len(list), err)
		}
		r.who, r.writers = append(r.who, time.Since(began)), len(list)
	}
	slices.Sort(r.who)
}

// page lists fifty and returns the place where they end.
func (r *storeReport) page(t *testing.T, store *engine.Store, after *sessions.Cursor) sessions.Cursor {
	list, err := store.Find(t.Context(), sessions.Query{After: after, Limit: 50})
	if err != nil || len(list) != 50 {
		t.Fatalf("Find = %d conversations, %v", len(list), err)
	}
	return list[49].Position()
}

// loop is a chat network inside the process: it tells when an answer arrived.
type loop struct {
	intake chan channels.Intake
	sent   chan time.Time
}

func (l *loop) Name() string { return "telegram" }

func (l *loop) Run(ctx context.Context, in channels.Intake) error {
	l.intake <- in
	<-ctx.Done()
	return nil
}

func (l *loop) Send(context.Context, channels.Outbound) (channels.Receipt, error) {
	l.sent <- time.Now()
	return channels.Receipt{MessageID: "1"}, nil
}

// measureTurns runs whole turns inside the process, gateway, agent and store,
// in the chat with the long past and in one that is empty at first.
func measureTurns(t *testing.T, state string, r *storeReport) {
	store, err := sqlite.Open(t.Context(), filepath.Join(state, "dragoman.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	ag, err := agent.New(agenttest.Script().Otherwise(agenttest.Say("The number after that one is as good as any other.")), nil, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	net := &loop{intake: make(chan channels.Intake, 1), sent: make(chan time.Time, 1)}
	g, err := gateway.New(storeOf(store), ag, []gateway.Binding{{Channel: net, Policy: people.Policy{Allow: []string{"*"}}}}, gateway.Options{Limits: gateway.Limits{RatePerMinute: -1}, Node: gateway.Node{Partial: true}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}()
	in := <-net.intake
	// What measureStore has left waits in other chats and is answered now.
	for {
		st, err := store.Stats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if st.Waiting+st.Unsent == 0 {
			break
		}
		select {
		case <-net.sent:
		case <-time.After(10 * time.Millisecond): // the last one is being marked
		}
	}
	r.turns(t, in, net)
}

// turns takes pairs of turns, one in the chat of the long past and one in a
// new chat.
func (r *storeReport) turns(t *testing.T, in channels.Intake, net *loop) {
	turn := func(chat int64, n int) time.Duration {
		began := time.Now()
		err := in.Accept(t.Context(), channels.Inbound{
			Key: channels.MustKey(fmt.Sprintf("telegram:%d", chat)), ID: fmt.Sprintf("turn %d %d", chat, n), MessageID: fmt.Sprint(n), Private: true, At: began,
			Sender: channels.Person{IDs: []string{fmt.Sprint(chat)}, Name: "Ann"}, Text: "And what do you know about the number after that one?",
		})
		if err != nil {
			t.Fatal(err)
		}
		return (<-net.sent).Sub(began)
	}
	const pairs, warm = 400, 20
	var ratios []float64
	for n := range pairs + warm {
		var long, young time.Duration
		if n%2 == 0 {
			long, young = turn(longChat, n), turn(firstChat, n)
		} else {
			young, long = turn(firstChat, n), turn(longChat, n)
		}
		if n < warm {
			continue
		}
		r.long, r.new = append(r.long, long), append(r.new, young)
		ratios = append(ratios, float64(long)/float64(young))
	}
	slices.Sort(r.long)
	slices.Sort(r.new)
	slices.Sort(ratios)
	r.ratio = percentile(ratios, 50)
}

func (r *storeReport) String() string {
	var b strings.Builder
	line := func(what, goal, got string) { fmt.Fprintf(&b, "| %s | %s | %s |\n", what, goal, measured(goal, got)) }
	b.WriteString("| 10,000 conversations, 1,000,000 messages | goal | measured |\n|---|---|---|\n")
	line("append one message durably", "p50 ≤ 0.5 ms", two(r.accept))
	line("load a conversation of 100 messages for a turn", "p50 ≤ 0.5 ms", two(r.load))
	line("list the newest 50 conversations", "p50 ≤ 0.5 ms", two(r.list))
	line("list 50 conversations somewhere in the newest 1000", "-", two(r.pages))
	line(fmt.Sprintf("list who wrote on the channel (%d)", r.writers), "-", "median "+ms(percentile(r.who, 50)))
	line("a turn in a chat of 100,000 messages against a new one", "≤ 1.2 ×", fmt.Sprintf("%.2f ×", r.ratio))
	line("such a turn: in the long chat", "-", two(r.long))
	line("such a turn: in the new one", "-", two(r.new))
	r.startRows(&b)
	fmt.Fprintln(&b)
	note := func(format string, args ...any) { fmt.Fprintf(&b, "- "+format+"\n", args...) }
	note("The disk's share: writing and fsyncing 4 KiB takes %s (median), and appending a message does that once. The SHA-256 of 16 MiB takes %s (at best); other programs used %.2f cores meanwhile.", ms(r.fsync), ms(r.hash), r.otherCores)
	note("The database has %s, a row in the inbox or the outbox for each message and a search index over all; statements made it in %s. Operations follow each other, each on a conversation chosen at random.", mb(r.database), r.built.Round(time.Second))
	note("Turns: gateway, agent and store in one process, with a model and a network that take no time; %d pairs that follow each other.", len(r.long))
	note("All of it took %s.", r.took.Round(time.Second))
	return b.String()
}

// two are the percentiles of what was measured often.
func two(sorted []time.Duration) string {
	return fmt.Sprintf("p50 %s, p95 %s", ms(percentile(sorted, 50)), ms(percentile(sorted, 95)))
}

// writeSection puts a report into its place in a document.
func writeSection(path, section, command, report string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("Written by `%s` on %s.\n\n%s", command, time.Now().UTC().Format("2006-01-02"), report)
	changed, err := testkit.ReplaceSection(string(old), section, text)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(changed), 0o644)
}

// startRows are the rows about starts, the one with the least stored first.
func (r *storeReport) startRows(b *strings.Builder) {
	for i, s := range r.starts {
		polled := percentile(s.polled, 50)
		cell := measured(noGrowth, fmt.Sprintf("median %s (opening the store %s)", ms(polled), ms(percentile(s.opened, 50))))
		if i > 0 && grown(polled, percentile(r.starts[0].polled, 50)) {
			cell += " (missed)"
		}
		fmt.Fprintf(b, "| start to first poll, %d conversations stored | %s | %s |\n", s.conversations, noGrowth, cell)
	}
}

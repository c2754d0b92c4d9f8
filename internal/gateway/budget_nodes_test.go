package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/admission"
	"dragoman/internal/budget"
	"dragoman/internal/gateway"
	"dragoman/internal/testkit"
	"dragoman/sessions"
)

// spender is an agent whose turns make one call of the model each, of the same price.
type spender struct {
	*scripted
	mu      sync.Mutex
	running int
	most    int // that ran at once
}

// callTokens is what one call uses, and what is reserved for it.
const callTokens = 100

func (s *spender) enter(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running += n
	s.most = max(s.most, s.running)
}

func (s *spender) Run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	say, err := t.Meter.Begin(ctx, "m", callTokens-1)
	if err != nil {
		return agent.Result{}, err
	}
	last := sessions.Message{Role: sessions.RoleAssistant, Content: say, Synthetic: true}
	if say == "" {
		s.enter(1)
		defer s.enter(-1)
		time.Sleep(10 * time.Millisecond) // the model writes
		last = sessions.Message{Role: sessions.RoleAssistant, Content: "echo " + inputs(t), Model: "m", Usage: &sessions.Usage{Input: callTokens - 1, Output: 1}}
		t.Meter.Used(last.Usage)
	}
	return agent.Result{Messages: append([]sessions.Message{t.Input[0]}, last), Text: last.Content, Steps: 1}, nil
}

// A hundred conversations on three nodes pass a limit by no more than the turns that were
// under way on them: a call counts when its turn is committed. Each message is answered once,
// and each call counts once.
func TestABudgetOverNodes(t *testing.T) {
	const (
		nodes = 3
		chats = 100
		turns = 4 // at once on each node
		limit = 40 * callTokens
	)
	url := freshDatabase(t)
	var all []*world
	var spenders []*spender
	for i := range nodes + 1 { // the first has the channel, and leaves the turns to the others
		s := &spender{scripted: &scripted{run: echo}}
		w := startNode(t, url, true, func(w *world, b *gateway.Binding, o *gateway.Options) {
			w.real = s
			b.Policy.Allow = []string{"*"}
			o.MaxTurns = turns
			o.NoTurns = i == 0
			o.Rules = []admission.Rule{(&budget.Settings{Unit: budget.Tokens, All: budget.Limits{Day: limit}}).Rule(admission.Setup{Sums: w.mem, Shared: true, Zone: time.UTC, MaxTokens: 1})}
		})
		if i == 0 {
			w.in = <-w.net.intake
		}
		all = append(all, w)
		spenders = append(spenders, s)
	}
	for chat := range chats {
		all[0].say(fmt.Sprint(chat), "hello")
	}
	var sent []channels.Outbound
	testkit.Eventually(t, "all are answered", func() bool {
		all[0].net.mu.Lock()
		defer all[0].net.mu.Unlock()
		sent = all[0].net.sent
		return len(sent) >= chats
	})
	answered, refused := 0, 0
	for _, m := range sent {
		switch {
		case strings.HasPrefix(m.Text, "echo "):
			answered++
		case strings.HasPrefix(m.Text, "I have used today's 4,000 tokens for everybody."):
			refused++
		}
	}
	today := time.Now().UTC().Format("20060102")
	spent, err := all[0].mem.Sum(t.Context(), "spent-tokens", "all", today, today)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for i, s := range spenders[1:] {
		if s.most == 0 {
			t.Errorf("node %d has made no call", i+1)
		}
		most += s.most
	}
	t.Logf("%d answered and %d refused; %d of %d tokens, at most %d calls at once", answered, refused, spent, limit, most)
	if answered+refused != chats || int64(answered)*callTokens != spent {
		t.Errorf("of %d conversations %d are answered and %d refused, and %d tokens are counted", chats, answered, refused, spent)
	}
	if spent < limit || spent > limit+nodes*turns*callTokens {
		t.Errorf("%d tokens are used of %d, with at most %d turns under way", spent, limit, nodes*turns)
	}
}

// caller is an agent whose turns make one call of the model each, which ends when released.
func (w *world) caller(released <-chan struct{}) {
	w.agent.run = func(ctx context.Context, t agent.Turn) (string, error) {
		say, err := t.Meter.Begin(ctx, "m", callTokens-1)
		if err != nil || say != "" {
			return say, err
		}
		select {
		case <-released:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		t.Meter.Used(&sessions.Usage{Input: callTokens - 1, Output: 1})
		return "done", nil
	}
	w.real = &paid{w.agent}
}

// paid is an agent whose answers used what a call uses.
type paid struct{ *scripted }

func (p *paid) Run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	res, err := p.scripted.Run(ctx, t)
	if err == nil && res.Text == "done" {
		res.Messages[len(res.Messages)-1].Usage = &sessions.Usage{Input: callTokens - 1, Output: 1}
	}
	return res, err
}

// A call that runs on another node is reserved here: the next one waits for it, and finds the
// budget used up. When the other node ends in the middle of its call, the turn goes on here,
// and what was cut is counted once.
func TestACallOnAnotherNode(t *testing.T) {
	url := freshDatabase(t)
	released := make(chan struct{})
	node := func(i int) *world {
		return startNode(t, url, i == 1, func(w *world, b *gateway.Binding, o *gateway.Options) {
			w.caller(released)
			b.Policy.Allow = []string{"*"}
			o.NoTurns = i == 0
			o.DrainLimit = time.Millisecond
			o.Calls = admission.NewCalls(w.mem, admission.CallsOptions{Shared: true})
			s := budget.Settings{Unit: budget.Tokens, All: budget.Limits{Day: callTokens}}
			o.Rules = []admission.Rule{s.Rule(admission.Setup{Sums: w.mem, Shared: true, Zone: time.UTC, MaxTokens: 1, Elsewhere: o.Calls.Elsewhere})}
		})
	}
	front := node(0)
	front.in = <-front.net.intake
	a := node(1)
	b := node(2)
	front.say("1", "hello")
	testkit.Eventually(t, "the first call is noted", func() bool {
		notes, err := a.mem.Notes(t.Context(), sessions.NoteFilter{Kind: "calls"})
		return err == nil && len(notes) == 1
	})
	a.takes(false)
	b.takes(true)
	front.say("2", "hello")
	testkit.Eventually(t, "the other node has the second turn", func() bool { return len(b.agent.asked()) == 1 })
	time.Sleep(2 * time.Second) // in which it would begin its call
	spent := func() int64 {
		today := time.Now().UTC().Format("20060102")
		n, err := front.mem.Sum(t.Context(), "spent-tokens", "all", today, today)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	if sent := front.net.texts("2"); len(sent) != 0 || spent() != 0 {
		t.Fatalf("while the first call runs, the second chat reads %q, and %d tokens are counted", sent, spent())
	}
	a.stop()
	testkit.Eventually(t, "the first turn goes on at the other node", func() bool { return len(b.agent.asked()) >= 2 })
	close(released)
	testkit.Eventually(t, "both are answered", func() bool { return len(front.net.texts("1")) == 1 && len(front.net.texts("2")) == 1 })
	t.Logf("%d tokens; chat 1 reads %q, chat 2 %q", spent(), front.net.texts("1"), front.net.texts("2"))
	// One of the two calls is made after what was cut, and the budget then ends.
	if n := spent(); n != callTokens-1+callTokens {
		t.Errorf("%d tokens are counted, want a call and the input of the one that was cut", n)
	}
}

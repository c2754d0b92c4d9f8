package actions_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

var (
	private = channels.MustKey("telegram:42")
	group   = channels.MustKey("telegram:-100")
	ann     = actions.Who{Channel: "telegram", IDs: []string{"42"}, Name: "Ann"}
	bob     = actions.Who{Channel: "telegram", IDs: []string{"7"}, Name: "Bob"}
)

// call is what the model wants.
type call struct {
	ID, Tool, Args string
	Effect         agent.Effect
	Origins        []sessions.Origin
	// Ask is what people read in place of Args, "" if they read those.
	Ask string
	// Weighty and WeightyAlone: the tool says so, and says so where nobody is there.
	Weighty, WeightyAlone bool
}

// world is a book over a real store, with a turn of Ann that wants to call a tool after it
// read a page.
type world struct {
	t     *testing.T
	store actions.Store
	o     actions.Options
	book  *actions.Book
	turn  actions.Turn
	call  call
	who   actions.Who // whose turn it is
	files []agent.File
	rules map[string]agent.Rule // of tools

	mu     sync.Mutex
	now    time.Time
	events []string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, who: ann, now: time.Date(2026, 11, 28, 14, 0, 0, 0, time.UTC)}
	w.store = sqlitetest.Open(t, w.clock)
	w.o = actions.Options{
		Zone: time.UTC, Now: w.clock,
		Tell: func(e actions.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, string(e.State))
		},
	}
	w.turn = actions.Turn{ID: "telegram:42#1", Chat: private, Item: "in/telegram:42/1", Generation: "20261128_001", Private: true}
	w.call = call{ID: "c1", Tool: "web_fetch", Args: `{"url":"https://example.org/?q=secret"}`, Origins: []sessions.Origin{sessions.OriginWeb}}
	w.open()
	return w
}

func (w *world) proposal() agent.Proposal {
	c := w.call
	ask := func(context.Context) (string, error) { return c.Ask, nil }
	return agent.Proposal{
		Ask:  ask,
		Tool: c.Tool, Rule: w.rules[c.Tool], Effect: c.Effect, Taint: c.Origins,
		Weighty: func(nobody bool) bool { return c.Weighty || nobody && c.WeightyAlone },
		Files:   func(context.Context) ([]agent.File, error) { return w.files, nil },
		Call:    agent.Call{ID: c.ID, Args: []byte(c.Args), Person: channels.Person{IDs: w.who.IDs, Name: w.who.Name}},
	}
}

// open makes the book anew, as a restart does.
func (w *world) open() { w.book = actions.New(w.store, w.o) }

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) later(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// said returns what the guard says about the call: "run", "ask" or the refusal.
func (w *world) said() string {
	w.t.Helper()
	d, err := w.book.Guard(w.turn).Decide(w.t.Context(), w.proposal())
	if err != nil {
		w.t.Fatalf("Decide = %v", err)
	}
	switch d.Verdict {
	case agent.Allow:
		return "run"
	case agent.Wait:
		return "ask"
	}
	return d.Say
}

// question is the only one that waits in the turn's chat.
func (w *world) question() actions.Question {
	w.t.Helper()
	list, err := w.book.Questions(w.t.Context(), w.turn.Chat, w.turn.ID)
	if err != nil || len(list) != 1 {
		w.t.Fatalf("Questions = %v, %v, want one", list, err)
	}
	return list[0]
}

// answer answers in the turn's chat.
func (w *world) answer(who actions.Who, ref string, a actions.Answer) actions.Outcome {
	w.t.Helper()
	o, err := w.book.Decide(w.t.Context(), who, actions.Ref{Chat: w.turn.Chat, Text: ref, Private: w.turn.Private}, a)
	if err != nil {
		w.t.Fatalf("Decide = %v", err)
	}
	return o
}

// gives answers the question that waits, and wants that result.
func (w *world) gives(who actions.Who, a actions.Answer, want actions.Result) {
	w.t.Helper()
	if got := w.answer(who, w.question().Code, a).Result; got != want {
		w.t.Errorf("the answer of %s has the result %d, want %d", who.Name, got, want)
	}
}

func (w *world) inGroup() {
	w.turn.Chat = group
	w.turn.Private = false
}

// refusals of calls, as the model reads them.
const (
	denied      = "error: not run: the person has refused it. Do not try to reach the same in another way; say what is missing."
	deniedAgain = "error: not run: the person has refused exactly this already."
	expired     = "error: not run: nobody allowed it in time"
	closed      = "error: not run: the question about it was closed"
	interrupted = "interrupted: it was allowed, and may or may not have happened"
	changed     = "error: not run: something has changed since the person was asked about it"
	lost        = "error: not run: the person was asked about it, and the answer is lost"
	tooOld      = "error: not run: it was allowed too long ago"
	noDecider   = "error: not run: it needs a person's yes, and nobody in this chat can give it"
	nobody      = "error: not run: it needs a person's yes, and nobody is there to be asked"
)

func yes(w *world) { w.gives(ann, actions.AllowOnce, actions.Decided) }
func no(w *world)  { w.gives(ann, actions.Deny, actions.Decided) }

func withApprovers(w *world) {
	w.inGroup()
	w.o.Approvers = []string{"telegram:7"}
}

func withSelf(w *world) {
	w.inGroup()
	w.o.Self = true
}

func withAsk(w *world) {
	w.rules = map[string]agent.Rule{"web_fetch": agent.RuleAsk}
	w.call.Origins = nil
}

// otherCode is a code that no question has.
func otherCode(w *world) string {
	if w.question().Code == "AAAA" {
		return "BBBB"
	}
	return "AAAA"
}

func wrongCodes(n int) func(*world) {
	return func(w *world) {
		other := otherCode(w)
		for range n {
			w.answer(ann, other, actions.AllowOnce)
		}
	}
}

func (w *world) close(waits map[string]bool) {
	w.t.Helper()
	if err := w.book.Close(w.t.Context(), w.turn.Chat, waits); err != nil {
		w.t.Fatal(err)
	}
}

// forget removes all records, as a restore does with what waits.
func (w *world) forget() {
	w.t.Helper()
	err := w.store.ChangeNotes(w.t.Context(), "approval", sessions.ChatScope(w.turn.Chat), func(have []sessions.Note) ([]sessions.Note, []string, error) {
		var names []string
		for _, n := range have {
			names = append(names, n.Name)
		}
		return nil, names, nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

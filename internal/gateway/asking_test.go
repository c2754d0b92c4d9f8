package gateway_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/internal/gateway"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// caller is an agent whose turns call tools as the real loop does: each call is in the
// journal before the guard is asked, and its start before it runs.
type caller struct {
	calls []sessions.ToolCall
	taint []sessions.Origin
	rule  agent.Rule
	// effect is that of the calls; EffectOut if it is not set.
	effect agent.Effect
	// crash, if not "", ends the process in a turn, once: at "proposed" or "used".
	crash string

	mu      sync.Mutex
	ran     []string // calls
	results []string // what the model read
}

var errCrash = errors.New("a test ends the process")

// step journals what became of a call.
func record(ctx context.Context, t agent.Turn, s sessions.Step) error { return t.Record(ctx, s) }

func (c *caller) run(ctx context.Context, t agent.Turn) (string, error) {
	started := map[string]bool{}
	done := map[string]bool{}
	begun := false
	for _, s := range t.Steps {
		begun = begun || s.Kind == sessions.StepModel
		started[s.CallID] = started[s.CallID] || s.Kind == sessions.StepToolStart
		done[s.CallID] = done[s.CallID] || s.Kind == sessions.StepToolDone
	}
	if !begun {
		m := sessions.Message{Role: sessions.RoleAssistant, ToolCalls: c.calls}
		if err := record(ctx, t, sessions.Step{Kind: sessions.StepModel, Message: &m}); err != nil {
			return "", err
		}
	}
	var waits *agent.Waiting
	for _, call := range c.calls {
		if done[call.ID] {
			continue
		}
		result := "interrupted"
		if !started[call.ID] {
			d, err := t.Guard.Decide(ctx, agent.Proposal{
				Call: agent.Call{ID: call.ID, Args: []byte(call.Arguments), Person: t.Person}, Tool: call.Name, Rule: c.rule, Effect: cmp.Or(c.effect, agent.EffectOut), Taint: c.taint, Turn: t.ID,
			})
			switch {
			case err != nil:
				return "", err
			case d.Verdict == agent.Wait:
				waits = &agent.Waiting{Until: d.Until}
				continue
			case d.Verdict == agent.Allow:
				if err := c.start(ctx, t, call); err != nil {
					return "", err
				}
				result = "done"
			default:
				result = d.Say
			}
		}
		c.mu.Lock()
		c.results = append(c.results, result)
		c.mu.Unlock()
		m := sessions.Message{Role: sessions.RoleTool, ToolCallID: call.ID, Content: result}
		if err := record(ctx, t, sessions.Step{Kind: sessions.StepToolDone, CallID: call.ID, Message: &m}); err != nil {
			return "", err
		}
	}
	if waits != nil {
		return "", c.crashed("proposed", waits)
	}
	return "answer " + inputs(t), nil
}

func (c *caller) crashed(at string, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crash != at {
		return err
	}
	c.crash = ""
	return errCrash
}

func (c *caller) start(ctx context.Context, t agent.Turn, call sessions.ToolCall) error {
	if err := c.crashed("used", nil); err != nil {
		return err
	}
	if err := record(ctx, t, sessions.Step{Kind: sessions.StepToolStart, CallID: call.ID}); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran = append(c.ran, call.ID)
	return nil
}

func (c *caller) has(ran, results string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := strings.Join(c.ran, " ")
	said := strings.Join(c.results, " | ")
	if got == ran && said == results {
		return ""
	}
	return fmt.Sprintf("%q ran, and the model read %q, want %q and %q", got, said, ran, results)
}

// asking is a world whose agent wants to send a mail after it read a page.
type asking struct {
	*world
	c    *caller
	book *actions.Book
	o    actions.Options
	// folder has the store.
	folder string
	store  *sqlitetest.Store
}

func startAsking(t *testing.T, changes ...func(*asking)) *asking {
	a := &asking{c: &caller{
		calls: []sessions.ToolCall{{ID: "c1", Name: "mail", Arguments: `{"to":"bob@example.org"}`}},
		taint: []sessions.Origin{"web"},
	}, o: actions.Options{Zone: time.UTC}}
	for _, change := range changes {
		change(a)
	}
	a.folder = t.TempDir()
	a.store = sqlitetest.OpenIn(t, a.folder, nil)
	a.world = start(t, a.wire)
	return a
}

// wire gives a world its book and its agent.
func (a *asking) wire(w *world, _ *gateway.Binding, o *gateway.Options) {
	w.mem = a.store
	w.store = storeOf(a.store)
	a.book = actions.New(w.mem, a.o)
	o.Actions = a.book
	w.agent.run = a.c.run
}

// restart ends the process and starts another on the same store.
func (a *asking) restart() {
	a.t.Helper()
	sent := a.net
	a.close()
	if err := a.store.Close(); err != nil {
		a.t.Fatal(err)
	}
	a.store = sqlitetest.OpenIn(a.t, a.folder, nil)
	n := a.n
	a.world = start(a.t, a.wire, func(w *world, b *gateway.Binding, _ *gateway.Options) {
		w.net = sent
		b.Channel = sent
	})
	a.n = n
}

// code is that of the last question that chat was sent.
func (a *asking) code(chat string) string {
	a.t.Helper()
	synctest.Wait()
	for _, text := range slices.Backward(a.net.texts(chat)) {
		found := regexp.MustCompile(`/allow ([A-Z0-9]{4})`).FindStringSubmatch(text)
		if found != nil {
			return found[1]
		}
	}
	a.t.Fatalf("chat %s was asked nothing: %q", chat, a.net.texts(chat))
	return ""
}

// questions is how many questions chat was sent.
func (a *asking) questions(chat string) (n int) {
	a.t.Helper()
	synctest.Wait()
	for _, text := range a.net.texts(chat) {
		if strings.Contains(text, "May I run") {
			n++
		}
	}
	return n
}

// inGroup is a message in the group g.
func (a *asking) inGroup(person, text string) channels.Inbound {
	m := a.message(person, text)
	m.Key = channels.MustKey("net:-1")
	m.Private = false
	m.Addressed = true
	return m
}

func (a *asking) hand(m channels.Inbound) {
	a.t.Helper()
	if err := a.in.Accept(a.t.Context(), m); err != nil {
		a.t.Fatalf("Accept = %v", err)
	}
	synctest.Wait()
}

// press presses a button under the question, and returns what is shown to the person.
func (a *asking) press(m channels.Inbound, verb string) string {
	a.t.Helper()
	list, err := a.book.List(a.t.Context(), m.Key)
	if err != nil || len(list) == 0 {
		a.t.Fatalf("List = %v, %v", list, err)
	}
	m.Text = "/" + verb + " " + list[0].ID
	say, err := a.in.(channels.Presser).Press(a.t.Context(), m)
	if err != nil {
		a.t.Fatalf("Press = %v", err)
	}
	synctest.Wait()
	return say
}

func (a *asking) last(chat string) string {
	texts := a.net.texts(chat)
	return texts[len(texts)-1]
}

const (
	deniedCall = "error: not run: the person has refused it. Do not try to reach the same in another way; say what is missing."
	lateCall   = "error: not run: nobody allowed it in time"
	noDecider  = "error: not run: it needs a person's yes, and nobody in this chat can give it"
)

// reply is a message of a person that replies to the last question.
func (a *asking) reply(person, text string) channels.Inbound {
	a.t.Helper()
	synctest.Wait()
	m := a.message(person, text)
	a.net.mu.Lock()
	defer a.net.mu.Unlock()
	for i, sent := range slices.Backward(a.net.sent) {
		if sent.Kind == channels.KindQuestion {
			m.Quote = &channels.Quote{ID: fmt.Sprint("m", i+1)}
			return m
		}
	}
	a.t.Fatal("nothing was asked")
	return m
}

// newBook is the book that a store keeps.
func newBook(s *sqlitetest.Store, o actions.Options) *actions.Book { return actions.New(s, o) }

// allow allows what was asked under a code, while no gateway runs.
func (a *asking) allow(code string) {
	a.t.Helper()
	who := actions.Who{Channel: "net", IDs: []string{"1"}}
	o, err := a.book.Decide(a.t.Context(), who, actions.Ref{Chat: channels.MustKey("net:1"), Text: code}, actions.AllowOnce)
	if err != nil || o.Result != actions.Decided {
		a.t.Fatalf("Decide = %+v, %v", o, err)
	}
}

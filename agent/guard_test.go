package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/sessions"
)

// doorkeeper is a guard that notes what it is asked and decides by the tool's name.
type doorkeeper struct {
	mu     sync.Mutex
	asked  []agent.Proposal
	decide map[string]agent.Decision // by tool; others are allowed
}

func (d *doorkeeper) Decide(_ context.Context, p agent.Proposal) (agent.Decision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, p)
	if decision, found := d.decide[p.Tool]; found {
		return decision, nil
	}
	return agent.Decision{Verdict: agent.Allow}, nil
}

// names lists what was asked about, as "tool effect step/place", and after a plus how many
// calls of the tool came before.
func (d *doorkeeper) names() (list []string) {
	for _, p := range d.asked {
		name := fmt.Sprintf("%s %s %d/%d", p.Tool, p.Effect, p.Step, p.Place)
		if p.Earlier > 0 {
			name += fmt.Sprintf(" +%d", p.Earlier)
		}
		list = append(list, name)
	}
	return list
}

func counterOf(name string, effect agent.Effect) *counter {
	return &counter{spec: agent.Spec{Name: name, Effect: effect, Origin: sessions.OriginModel}}
}

// Without a guard, only what reads and what changes our own things runs.
func TestNoGuard(t *testing.T) {
	for effect, runs := range map[agent.Effect]bool{
		agent.EffectRead: true, agent.EffectOwn: true, agent.EffectOut: false, agent.EffectRun: false, "": false,
	} {
		tool := counterOf("act", effect)
		m := newScript(t, call("a act {}"), say("done"))
		turn := turnOf("go")
		turn.Guard = nil
		res := run(t, newAgent(t, m, agent.Options{}, tool), turn)
		if got := len(tool.calls()) == 1; got != runs {
			t.Errorf("effect %q: the call ran: %v, want %v", effect, got, runs)
		}
		if m := res.Messages[2]; m.Failed == runs || m.Synthetic == runs || !runs && !strings.Contains(m.Content, "nobody can allow") {
			t.Errorf("effect %q: the model reads %q (failed %v, synthetic %v)", effect, m.Content, m.Failed, m.Synthetic)
		}
	}
}

// The guard is asked about each call, in the order of the answer, before the call begins.
func TestGuardIsAsked(t *testing.T) {
	send, look := counterOf("send", agent.EffectOut), counterOf("look", agent.EffectRead)
	odd := counterOf("odd", "")
	look.spec.Parallel = true
	guard := &doorkeeper{decide: map[string]agent.Decision{"send": {Say: "not today"}, "odd": {}}}
	m := newScript(t, call("a look {}", "b look {}", "c send {}", "d none {}"), call("e odd {}", "f look {}"), say("done"))
	turn := turnOf("go")
	turn.Guard = guard
	var j journal
	turn.Record = j.record
	res := run(t, newAgent(t, m, agent.Options{}, send, look, odd), turn)
	want := []string{"look read 1/0", "look read 1/1 +1", "send out 1/2", "odd out 2/0", "look read 2/1 +2"}
	if diff := cmp.Diff(want, guard.names()); diff != "" {
		t.Errorf("the guard was asked (-want +got):\n%s", diff)
	}
	if len(send.calls())+len(odd.calls()) != 0 || len(look.calls()) != 3 {
		t.Errorf("%d refused calls ran, and %d of 3 others", len(send.calls())+len(odd.calls()), len(look.calls()))
	}
	said := show(res.Messages)
	if !strings.Contains(said, "not today") || !strings.Contains(said, "it was not allowed") {
		t.Errorf("the model does not read why:\n%s", said)
	}
	if strings.Contains(j.shape(), "tool_start:c") || !strings.Contains(j.shape(), "tool_done:c") {
		t.Errorf("the journal has %s, want c answered and never started", j.shape())
	}
}

// A call that waits ends the run after the other calls; a resumed turn asks again, and
// about nothing else.
func TestWaiting(t *testing.T) {
	until := t0.Add(10 * time.Minute)
	send, look := counterOf("send", agent.EffectOut), counterOf("look", agent.EffectRead)
	guard := &doorkeeper{decide: map[string]agent.Decision{"send": {Verdict: agent.Wait, Say: "May I?", Until: until}}}
	m := newScript(t, call("a send {}", "b look {}", `c send {"n":2}`), say("done"))
	a := newAgent(t, m, agent.Options{}, send, look)
	turn := turnOf("go")
	turn.Guard = guard
	var j journal
	turn.Record = j.record
	for range 2 { // the second time it still waits
		_, err := a.Run(t.Context(), turn)
		var w *agent.Waiting
		if !errors.As(err, &w) || w.Say != "May I?\n\nMay I?" || !w.Until.Equal(until) {
			t.Fatalf("Run() = %v (%+v), want Waiting with two questions", err, w)
		}
		turn.Steps = slices.Clone(j.steps)
	}
	if got := j.shape(); got != "model tool_start:b tool_done:b" {
		t.Errorf("the journal has %s, want the call that did not wait", got)
	}
	if len(send.calls()) != 0 || len(look.calls()) != 1 || len(m.requests()) != 1 {
		t.Fatalf("%d calls that wait ran, %d others, %d requests", len(send.calls()), len(look.calls()), len(m.requests()))
	}
	guard.asked = nil
	guard.decide = map[string]agent.Decision{}
	res := run(t, a, turn)
	if diff := cmp.Diff([]string{"send out 1/0", "send out 1/2 +1"}, guard.names()); diff != "" {
		t.Errorf("the resumed turn asks (-want +got):\n%s", diff)
	}
	if len(send.calls()) != 2 || len(look.calls()) != 1 || res.Text != "done" {
		t.Errorf("%d and %d calls ran, the answer is %q; want 2, 1 and done", len(send.calls()), len(look.calls()), res.Text)
	}
}

// A call whose start is in the journal was allowed then.
func TestStartedIsNotAskedAgain(t *testing.T) {
	look := counterOf("look", agent.EffectOut)
	look.spec.Repeatable = true
	a := newAgent(t, newScript(t, call("a look {}"), say("done")), agent.Options{}, look)
	turn := turnOf("go")
	var j journal
	j.fail = func(s sessions.Step) error {
		if s.Kind == sessions.StepToolDone {
			return errCrash
		}
		return nil
	}
	turn.Record = j.record
	if _, err := a.Run(t.Context(), turn); !errors.Is(err, errCrash) {
		t.Fatalf("Run() = %v, want a crash", err)
	}
	guard := &doorkeeper{decide: map[string]agent.Decision{"look": {Say: "no"}}}
	j.fail = nil
	turn.Steps, turn.Guard = slices.Clone(j.steps), guard
	run(t, a, turn)
	if len(guard.asked) != 0 || len(look.calls()) != 2 {
		t.Errorf("asked %d times, ran %d times; want 0 and 2", len(guard.asked), len(look.calls()))
	}
}

// An error of the guard ends the turn, which has run nothing.
func TestGuardFails(t *testing.T) {
	broken := errors.New("the store is away")
	send := counterOf("send", agent.EffectOut)
	turn := turnOf("go")
	turn.Guard = agent.GuardFunc(func(context.Context, agent.Proposal) (agent.Decision, error) { return agent.Decision{}, broken })
	_, err := newAgent(t, newScript(t, call("a send {}")), agent.Options{}, send).Run(t.Context(), turn)
	if !errors.Is(err, broken) || len(send.calls()) != 0 {
		t.Errorf("Run() = %v after %d calls, want the guard's error and none", err, len(send.calls()))
	}
}

// Calls that run side by side are asked about in order, and those that wait hold up no
// other.
func TestWaitingBesideOthers(t *testing.T) {
	look, send := counterOf("look", agent.EffectRead), counterOf("send", agent.EffectOut)
	look.spec.Parallel, send.spec.Parallel = true, true
	guard := &doorkeeper{decide: map[string]agent.Decision{"send": {Verdict: agent.Wait, Until: t0}}}
	m := newScript(t, call("a send {}", "b look {}", "c look {}", "d send {}", "e look {}", "f look {}"), say("done"))
	a := newAgent(t, m, agent.Options{}, send, look)
	turn := turnOf("go")
	turn.Guard = guard
	var j journal
	turn.Record = j.record
	_, err := a.Run(t.Context(), turn)
	var w *agent.Waiting
	if !errors.As(err, &w) || w.Say != "" || !w.Until.Equal(t0) || len(look.calls()) != 4 || len(send.calls()) != 0 {
		t.Fatalf("Run() = %v (%+v) after %d and %d calls, want Waiting after 4 and 0", err, w, len(look.calls()), len(send.calls()))
	}
	want := []string{"send out 1/0", "look read 1/1", "look read 1/2 +1", "send out 1/3 +1", "look read 1/4 +2", "look read 1/5 +3"}
	if diff := cmp.Diff(want, guard.names()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	guard.decide = nil
	turn.Steps = slices.Clone(j.steps)
	res := run(t, a, turn)
	if got := show(res.Messages); len(look.calls()) != 4 || len(send.calls()) != 2 || strings.Index(got, "tool(a)") > strings.Index(got, "tool(b)") {
		t.Errorf("%d and %d calls in all; want 4 and 2, with results in the order of the calls:\n%s", len(look.calls()), len(send.calls()), got)
	}
}

package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/sessions"
)

// A turn has the tools that there are when it begins, until it ends.
func TestToolsComeAndGo(t *testing.T) {
	first, second := newCounter("files__a"), newCounter("files__b")
	now := []agent.Tool{first}
	change := func(ctx context.Context, r agent.Request, on func(agent.Delta)) (agent.Response, error) {
		now = []agent.Tool{second}
		return call("c1 files__a {}")(ctx, r, on)
	}
	m := newScript(t, change, call("c2 files__a {}"), say("one"), say("two"))
	a := newAgent(t, m, agent.Options{More: func(context.Context) []agent.Tool { return now }}, newCounter("time"))
	run(t, a, turnOf("first"))
	run(t, a, turnOf("second"))
	for i, want := range []string{"files__a time", "files__a time", "files__a time", "files__b time"} {
		if got := offeredIn(m.requests()[i]); got != want {
			t.Errorf("request %d offers %q, want %q", i, got, want)
		}
	}
	if n := len(first.calls()); n != 2 {
		t.Errorf("the tool that was there when the turn began ran %d times, want 2", n)
	}
	if !a.Has("files__b") || a.Has("files__a") {
		t.Error("Has speaks of the tools that were there before")
	}
}

// offeredIn are the names of the tools in a request.
func offeredIn(r agent.Request) string {
	var names []string
	for _, s := range r.Tools {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

// A wrong tool does not take the others away, and none stands in for an own one.
func TestWrongToolsAreLeftOut(t *testing.T) {
	own := newCounter("time")
	more := []agent.Tool{newCounter("a b"), newCounter("time"), newCounter("good__one"), tool{spec: agent.Spec{Name: "bad__schema", Parameters: []byte(`[]`)}}}
	m := newScript(t, call("c1 time {}"), say("done"))
	a := newAgent(t, m, agent.Options{More: func(context.Context) []agent.Tool { return more }}, own)
	run(t, a, turnOf("go"))
	if got := offeredIn(m.requests()[0]); got != "good__one time" || len(own.calls()) != 1 {
		t.Errorf("the request offers %q, and ours ran %d times", got, len(own.calls()))
	}
}

// The model learns which tools it lacks, once a turn, also if that is run again. A caller who
// keeps the messages gets no note among them.
func TestMissingTools(t *testing.T) {
	m := newScript(t, call("c1 time {}"), say("one"), say("two"), say("three"))
	a := newAgent(t, m, agent.Options{Missing: func(context.Context) string { return "files (gone)" }}, newCounter("time"))
	res := run(t, a, turnOf("go"))
	if len(res.Messages) != 5 || !strings.Contains(res.Messages[1].Content, "cannot be used now: files (gone).") || !res.Messages[1].Synthetic {
		t.Errorf("the turn's messages are %+v", res.Messages)
	}
	again := turnOf("go")
	again.Steps = []sessions.Step{{Kind: sessions.StepNote, Message: &res.Messages[1]}}
	if res := run(t, a, again); len(res.Messages) != 3 {
		t.Errorf("after a restart they are %+v", res.Messages)
	}
	theirs := turnOf("go")
	theirs.Given = &agent.Given{}
	if res := run(t, a, theirs); len(res.Messages) != 2 {
		t.Errorf("with a caller who keeps them they are %+v", res.Messages)
	}
}

// In one conversation it is told when that changes, and not with each turn. A person who writes
// the same words changes nothing.
func TestMissingToolsAgain(t *testing.T) {
	missing := ""
	m := newScript(t, say("done"))
	a := newAgent(t, m, agent.Options{Missing: func(context.Context) string { return missing }}, newCounter("time"))
	var history []sessions.Message
	for _, step := range []struct{ missing, want string }{
		{"", ""},
		{"files (port 4711 is closed)", "[The tools of these servers cannot be used now: files (port 4711 is closed)."},
		{"files (port 4712 is closed)", ""},
		{"files (port 4713 is closed)", ""},
		{"files (it wants a login)", "[The tools of these servers cannot be used now: files (it wants a login)."},
		{"", "[The tools of all servers can be used again.]"},
		{"", ""},
		{"files (it wants a login)", "[The tools of these servers cannot be used now: files (it wants a login)."},
	} {
		missing = step.missing
		turn := turnOf("[The tools of all servers can be used again.]")
		turn.History.Messages = slices.Clone(history)
		res := run(t, a, turn)
		notes := ""
		for _, m := range res.Messages {
			if m.Synthetic {
				notes += m.Content
			}
		}
		if !strings.HasPrefix(notes, step.want) || step.want == "" && notes != "" {
			t.Errorf("while %q is missing it is told %q, want %q", step.missing, notes, step.want)
		}
		history = append(history, res.Messages...)
	}
}

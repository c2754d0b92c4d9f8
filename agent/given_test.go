package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/sessions"
)

// givenTurn is a turn of a caller who keeps the messages and has a tool of its own.
func givenTurn(text string) agent.Turn {
	t := turnOf(text)
	t.Given = &agent.Given{Tools: []agent.Spec{{Name: "pay", Parameters: json.RawMessage(`{"type":"object"}`)}}}
	return t
}

// A step that calls a tool of ours and one of the caller's runs ours, and ends the turn
// with the caller's. With the results, the turn continues where it was, and ours does
// not run again.
func TestGivenMixedStep(t *testing.T) {
	m := newScript(t, answer(response("Both.", "tool_calls", parseCalls([]string{"1 look {}", `- pay {"n":1}`})...)), say("Paid."))
	look := newCounter("look")
	a := newAgent(t, m, agent.Options{}, look, tool{spec: agent.Spec{Name: "remember", Chat: true}})
	turn := givenTurn("pay it")
	var j journal
	turn.Record = j.record
	res, err := a.Run(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Calls) != 1 || res.Calls[0].Name != "pay" || res.Calls[0].Arguments != `{"n":1}` || res.Calls[0].ID == "" {
		t.Fatalf("Calls = %+v, want pay", res.Calls)
	}
	if got := names(m.requests()[0].Tools); got != "look pay" {
		t.Errorf("offered %q, want ours beside the caller's, and none that works on a conversation", got)
	}
	if j.shape() != "model tool_start:1 tool_done:1" || res.Text != "Both." || len(look.calls()) != 1 {
		t.Errorf("journal %q, text %q, %d calls of ours", j.shape(), res.Text, len(look.calls()))
	}

	turn.Input = append(slices.Clone(res.Messages), sessions.Message{Role: sessions.RoleTool, ToolCallID: res.Calls[0].ID, Content: "done", Turn: "t1"})
	turn.ID = "t2"
	next, err := a.Run(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	if next.Text != "Paid." || len(look.calls()) != 1 || len(next.Calls) != 0 {
		t.Errorf("the turn continues with %q, %d calls of ours, %v", next.Text, len(look.calls()), next.Calls)
	}
	got := show(m.requests()[1].Messages)
	if strings.Count(got, "tool(") != 2 || !strings.Contains(got, "look ran with {}") || !strings.Contains(got, "done") {
		t.Errorf("the second request lacks a result:\n%s", got)
	}
}

// A turn that a crash cut off after our part is not run twice.
func TestGivenResumes(t *testing.T) {
	m := newScript(t, call("1 look {}", `- pay {}`))
	look := newCounter("look")
	a := newAgent(t, m, agent.Options{}, look)
	turn := givenTurn("pay it")
	var j journal
	turn.Record = j.record
	first, err := a.Run(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	turn.Steps = j.steps
	again, err := a.Run(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.Calls, again.Calls); diff != "" || len(look.calls()) != 1 || len(m.requests()) != 1 {
		t.Errorf("after a crash: %d requests, %d calls of ours, calls (-want +got):\n%s", len(m.requests()), len(look.calls()), diff)
	}
}

// What the caller wants of the model reaches it, and only in this turn.
func TestGivenWishes(t *testing.T) {
	m := newScript(t, call(`- pay {}`), say("hello"))
	a := newAgent(t, m, agent.Options{MaxTokens: 100}, newCounter("look"))
	turn := givenTurn("hi")
	g := turn.Given
	g.Must = true
	g.Wishes = agent.Wishes{
		MaxTokens: 50, Temperature: new(float32(0)), TopP: new(float32(0.5)),
		Stop: []string{"END"}, Seed: new(7), Format: json.RawMessage(`{"type":"object"}`),
	}
	res, err := a.Run(t.Context(), turn)
	if err != nil || len(res.Calls) != 1 {
		t.Fatalf("Run() = %+v, %v", res, err)
	}
	r := m.requests()[0]
	if got := names(r.Tools); got != "pay" || !r.MustCall {
		t.Errorf("where a call is a must, offered are %q, must %v, want the caller's alone", got, r.MustCall)
	}
	if r.MaxTokens != 50 || *r.Temperature != 0 || *r.TopP != 0.5 || !slices.Equal(r.Stop, g.Stop) || *r.Seed != 7 || string(r.Format) != string(g.Format) {
		t.Errorf("the request has other wishes: %+v", r)
	}
	run(t, a, turnOf("hi"))
	if r := m.requests()[1]; r.MustCall || r.MaxTokens != 100 || r.Temperature != nil || r.Stop != nil || len(r.Tools) != 1 {
		t.Errorf("the next turn inherits wishes: %+v", r)
	}
}

// A model that calls a tool of a conversation in a turn without one is told that there is
// no such tool.
func TestGivenHidesToolsOfConversations(t *testing.T) {
	m := newScript(t, call(`1 remember {}`), say("hello"))
	remember := &counter{spec: agent.Spec{Name: "remember", Chat: true}}
	a := newAgent(t, m, agent.Options{}, remember)
	if res := run(t, a, givenTurn("hi")); res.Text != "hello" || len(remember.calls()) != 0 {
		t.Errorf("text %q, %d calls of a tool that is not offered", res.Text, len(remember.calls()))
	}
	if !a.Has("remember") || a.Has("pay") {
		t.Error("Has does not know our tools")
	}
}

// Calls that the caller's messages repeat often are the caller's own affair.
func TestGivenRepeatsOfTheCaller(t *testing.T) {
	m := newScript(t, say("Still waiting."))
	a := newAgent(t, m, agent.Options{MaxSteps: 3})
	turn := givenTurn("wait for it")
	for i := range 12 {
		id := string(rune('a' + i))
		turn.Input = append(turn.Input,
			sessions.Message{Role: sessions.RoleAssistant, ToolCalls: parseCalls([]string{id + " pay {}"})},
			sessions.Message{Role: sessions.RoleTool, ToolCallID: callID(id), Content: "not yet"})
	}
	res, err := a.Run(t.Context(), turn)
	if err != nil || res.Text != "Still waiting." {
		t.Errorf("Run() = %q, %v", res.Text, err)
	}
	if len(m.requests()[0].Tools) != 1 {
		t.Error("the caller's own steps count as ours: no tools are offered any more")
	}
}

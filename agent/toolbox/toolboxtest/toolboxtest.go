// Package toolboxtest is the suite that every tool passes, wherever it comes from.
//
// The promise: what a model writes into a call, and when a process dies, ends in a result
// that the model can read, and nothing runs twice that must not.
package toolboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

// Run tries a tool. args are those of a call that it can answer, or refuse with a sentence.
func Run(t *testing.T, tool agent.Tool, args string) {
	t.Helper()
	spec := tool.Spec()
	if !window.IsToolName(spec.Name) || !window.IsObject(string(spec.Parameters)) || spec.Description == "" {
		t.Errorf("its description is not one that a request can have: %+v", spec)
	}
	var schema schema
	if err := json.Unmarshal(spec.Parameters, &schema); err != nil {
		t.Fatal(err)
	}
	t.Run("arguments", func(t *testing.T) { arguments(t, tool, schema, args) })
	t.Run("endings", func(t *testing.T) { endings(t, tool, args) })
	t.Run("twice", func(t *testing.T) { twice(t, tool, args) })
	if _, forwards := tool.(agent.Forwarder); forwards {
		return // the loop never runs it
	}
	t.Run("crashes", func(t *testing.T) { crashes(t, tool, args) })
}

// schema is what the suite knows of a tool's arguments.
type schema struct {
	Properties map[string]struct {
		Type any `json:"type"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// call is a call with those arguments, in a private chat.
func call(args string) agent.Call {
	return agent.Call{
		ID: "c1", Args: json.RawMessage(args), Key: channels.MustKey("telegram:7"), Private: true, Turn: "t",
		Person: channels.Person{IDs: []string{"7"}, Name: "Ann"}, Found: new(sessions.Taint),
	}
}

// try calls the tool, which has to come back in time, with a text or an error.
func try(t *testing.T, ctx context.Context, tool agent.Tool, args string) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				t.Errorf("%.100s: it panics: %v", args, v)
				ended <- errors.New("panic")
			}
		}()
		_, err := tool.Run(ctx, call(args))
		if err != nil && strings.TrimSpace(err.Error()) == "" {
			t.Errorf("%.100s: an error without words", args)
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(30 * time.Second):
		t.Errorf("%.100s: it does not come back", args)
		return errors.New("it does not come back")
	}
}

// arguments tries what models write.
func arguments(t *testing.T, tool agent.Tool, s schema, good string) {
	for _, args := range []string{"{", "[]", `"x"`, "7", good + "{}"} {
		if try(t, t.Context(), tool, args) == nil {
			t.Errorf("%s is accepted", args)
		}
	}
	if len(s.Required) > 0 && try(t, t.Context(), tool, "{}") == nil {
		t.Errorf("a call without %v is accepted", s.Required)
	}
	foreign := strings.Replace(good, "{", `{"a_foreign_one":1,`, 1)
	foreign = strings.Replace(foreign, ",}", "}", 1)
	if try(t, t.Context(), tool, foreign) == nil && !tool.Spec().Repeatable {
		t.Error("an argument that it does not know is passed over, though it changes something")
	}
	huge, _ := json.Marshal(strings.Repeat("x", 1<<20)) // a text always marshals
	for name, p := range s.Properties {
		key, _ := json.Marshal(name)
		_ = try(t, t.Context(), tool, "{"+string(key)+":"+string(huge)+"}")
		if p.Type == "string" {
			_ = try(t, t.Context(), tool, "{"+string(key)+`:"\u0000\u202e"}`)
		}
	}
}

// endings: the caller gives up before, or at once.
func endings(t *testing.T, tool agent.Tool, args string) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_ = try(t, gone, tool, args)
	late, stop := context.WithTimeout(t.Context(), time.Nanosecond)
	defer stop()
	_ = try(t, late, tool, args)
}

// twice: a model makes the same call again and again, in one answer too. Each has a result.
func twice(t *testing.T, tool agent.Tool, args string) {
	var calls []sessions.ToolCall
	for _, id := range []string{"callNumber1", "callNumber2", "callNumber3"} {
		calls = append(calls, sessions.ToolCall{ID: id, Name: tool.Spec().Name, Arguments: args})
	}
	m := agenttest.Script(agenttest.Call(calls...)).Otherwise(agenttest.Say("done"))
	a, err := agent.New(m, []agent.Tool{tool}, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Run(t.Context(), agent.Turn{
		ID: "t", Key: channels.MustKey("telegram:7"), Private: true, Person: channels.Person{IDs: []string{"7"}}, Guard: agent.Unguarded,
		Input: []sessions.Message{{Role: sessions.RoleUser, Content: "go", Sender: "7"}},
	})
	if err != nil || res.Text != "done" {
		t.Fatalf("a turn with the same call three times ends with %q, %v", res.Text, err)
	}
	results := 0
	for _, msg := range res.Messages {
		if msg.Role == sessions.RoleTool && msg.Content != "" {
			results++
		}
	}
	if results != len(calls) {
		t.Errorf("%d of %d equal calls have a result", results, len(calls))
	}
}

// counting counts the calls that reach a tool.
type counting struct {
	agent.Tool
	n *atomic.Int64
}

func (c counting) Unwrap() agent.Tool { return c.Tool }

func (c counting) Run(ctx context.Context, call agent.Call) (string, error) {
	c.n.Add(1)
	return c.Tool.Run(ctx, call)
}

// errKill ends a turn as a crash does: the journal has nothing of what follows.
var errKill = errors.New("killed")

// crashes kills a turn before the call, and after it but before its result is kept.
func crashes(t *testing.T, tool agent.Tool, args string) {
	for _, at := range []sessions.StepKind{sessions.StepToolStart, sessions.StepToolDone} {
		ran := new(atomic.Int64)
		var steps []sessions.Step
		killed := false
		turn := agent.Turn{
			ID: "t", Key: channels.MustKey("telegram:7"), Private: true, Person: channels.Person{IDs: []string{"7"}}, Guard: agent.Unguarded,
			Input: []sessions.Message{{Role: sessions.RoleUser, Content: "go", Sender: "7"}},
			Record: func(_ context.Context, s sessions.Step) error {
				if s.Kind == at && !killed {
					killed = true
					return errKill
				}
				steps = append(steps, s)
				return nil
			},
		}
		m := agenttest.Script(agenttest.Call(sessions.ToolCall{ID: "callNumber1", Name: tool.Spec().Name, Arguments: args})).Otherwise(agenttest.Say("done"))
		a, err := agent.New(m, []agent.Tool{counting{tool, ran}}, agent.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Run(t.Context(), turn)
		if !errors.Is(err, errKill) {
			t.Fatalf("a turn that dies at %s ends with %v", at, err)
		}
		turn.Steps = steps
		res, err := a.Run(t.Context(), turn)
		if err != nil || res.Text != "done" {
			t.Fatalf("after a crash at %s: %q, %v", at, res.Text, err)
		}
		want := int64(1)
		if at == sessions.StepToolDone && tool.Spec().Repeatable {
			want = 2
		}
		if n := ran.Load(); n != want {
			t.Errorf("killed at %s, it ran %d times in all, want %d", at, n, want)
		}
	}
}

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	key = channels.MustKey("cli:direct")
	t0  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// reply is a scripted model's reaction to one call.
type reply func(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error)

// script is a model that follows a list of replies and repeats the last one. It fails
// the test on a request that a server would refuse.
type script struct {
	t       *testing.T
	mu      sync.Mutex
	replies []reply
	got     []agent.Request
}

func newScript(t *testing.T, replies ...reply) *script { return &script{t: t, replies: replies} }

func (s *script) Name() string { return "scripted" }

func (s *script) Complete(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
	if err := window.Validate(r.Messages); err != nil {
		s.t.Errorf("Complete got a request that is not valid: %v", err)
	}
	if why := unprompted(r.Messages); why != "" {
		s.t.Errorf("Complete got a request that templates refuse: %s", why)
	}
	s.mu.Lock()
	next := s.replies[min(len(s.got), len(s.replies)-1)]
	r.Messages = slices.Clone(r.Messages)
	s.got = append(s.got, r)
	s.mu.Unlock()
	return next(ctx, r, onDelta)
}

// unprompted says what in msgs a template that requires alternating roles refuses.
func unprompted(msgs []sessions.Message) string {
	for i, m := range msgs {
		switch {
		case i == 0 && m.Role != sessions.RoleUser:
			return "it begins with a message of " + string(m.Role)
		case i > 0 && m.Role == msgs[i-1].Role && m.Role != sessions.RoleTool:
			return fmt.Sprintf("messages %d and %d are both of %s", i-1, i, m.Role)
		case i > 0 && m.Role == sessions.RoleUser && msgs[i-1].Role == sessions.RoleTool:
			return fmt.Sprintf("message %d is a person's, after a result", i)
		}
	}
	return ""
}

func (s *script) requests() []agent.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func say(text string) reply {
	return func(_ context.Context, _ agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
		if onDelta != nil {
			for _, piece := range strings.SplitAfter(text, " ") {
				onDelta(agent.Delta{Text: piece})
			}
		}
		return response(text, "stop"), nil
	}
}

func response(text, finish string, calls ...sessions.ToolCall) agent.Response {
	return agent.Response{
		Message: sessions.Message{Role: sessions.RoleAssistant, Content: text, ToolCalls: calls},
		Finish:  finish, Usage: &sessions.Usage{Input: 100, Output: 10, Cached: 50},
	}
}

func answer(resp agent.Response) reply {
	return func(context.Context, agent.Request, func(agent.Delta)) (agent.Response, error) { return resp, nil }
}

// call answers with tool calls, written as "id name {args}".
func call(calls ...string) reply { return answer(response("", "tool_calls", parseCalls(calls)...)) }

func parseCalls(calls []string) (out []sessions.ToolCall) {
	for _, c := range calls {
		id, rest, _ := strings.Cut(c, " ")
		name, args, _ := strings.Cut(rest, " ")
		out = append(out, sessions.ToolCall{ID: callID(id), Name: name, Arguments: args})
	}
	return out
}

// callID makes an id of nine letters and digits from a short one, as in requests, and
// "" from "-"; shortID reverses it.
func callID(short string) string {
	if short == "-" {
		return ""
	}
	return short + strings.Repeat("Z", max(9-len(short), 0))
}

func shortID(id string) string { return strings.TrimRight(id, "Z") }

func fail(err error) reply {
	return func(context.Context, agent.Request, func(agent.Delta)) (agent.Response, error) {
		return agent.Response{}, err
	}
}

// tool is a tool made of a function.
type tool struct {
	spec agent.Spec
	run  func(ctx context.Context, c agent.Call) (string, error)
}

func (f tool) Spec() agent.Spec { return f.spec }

func (f tool) Run(ctx context.Context, c agent.Call) (string, error) { return f.run(ctx, c) }

// counter is a tool that records its calls.
type counter struct {
	spec agent.Spec
	mu   sync.Mutex
	got  []agent.Call
}

func (c *counter) Spec() agent.Spec { return c.spec }

func (c *counter) Run(_ context.Context, call agent.Call) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.Found = nil // it is there only while the call runs, as those below
	call.Delegate = nil
	call.Progress = nil
	call.Sent = nil
	call.Paid = nil
	c.got = append(c.got, call)
	return fmt.Sprintf("%s ran with %s", c.spec.Name, call.Args), nil
}

func (c *counter) calls() []agent.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

func newCounter(name string) *counter { return &counter{spec: agent.Spec{Name: name}} }

// journal keeps the steps of a turn, as a store does.
type journal struct {
	mu    sync.Mutex
	steps []sessions.Step
	fail  func(sessions.Step) error
}

func (j *journal) record(_ context.Context, s sessions.Step) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		if err := j.fail(s); err != nil {
			return err
		}
	}
	// Through JSON, as a store does it.
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	var stored sessions.Step
	if err := json.Unmarshal(b, &stored); err != nil {
		return err
	}
	j.steps = append(j.steps, stored)
	return nil
}

// shape lists the journal as "kind:call".
func (j *journal) shape() string {
	var b strings.Builder
	for _, s := range j.steps {
		b.WriteString(string(s.Kind))
		if s.CallID != "" {
			b.WriteString(":" + shortID(s.CallID))
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

func newAgent(t *testing.T, m agent.Model, opts agent.Options, tools ...agent.Tool) *agent.Agent {
	t.Helper()
	if opts.Now == nil {
		opts.Now = func() time.Time { return t0 }
	}
	if opts.Compaction == (window.Compaction{}) {
		opts.Compaction = keeping(8) // independent of the default
	}
	a, err := agent.New(m, tools, opts)
	if err != nil {
		t.Fatalf("New() = %v", err)
	}
	return a
}

// turnOf returns a turn that answers text.
func turnOf(text string) agent.Turn {
	return agent.Turn{
		ID: "t1", Key: key, Person: channels.Person{IDs: []string{"7"}, Name: "Ada"},
		Input: []sessions.Message{{Role: sessions.RoleUser, Content: text, Sender: "7", At: t0}},
		Guard: agent.Unguarded,
	}
}

// run runs a turn in which every request shows all messages that no summary covers.
func run(t *testing.T, a *agent.Agent, turn agent.Turn) agent.Result {
	t.Helper()
	res := runUnsummarised(t, a, turn)
	if res.Unaccounted != 0 {
		t.Errorf("a request left out %d messages that no summary covers", res.Unaccounted)
	}
	return res
}

// runUnsummarised runs a turn without summaries: they are off, or fail, or no one can
// be asked. Only in such a turn messages may be unaccounted for, and then requests
// say how many.
func runUnsummarised(t *testing.T, a *agent.Agent, turn agent.Turn) agent.Result {
	t.Helper()
	made := false
	if compact := turn.Compact; compact != nil {
		turn.Compact = func(ctx context.Context, keep *window.Keep) (sessions.History, error) {
			h, err := compact(ctx, keep)
			made = made || err == nil && h.Summary != nil && h.Generation == turn.History.Generation
			return h, err
		}
	}
	res, err := a.Run(t.Context(), turn)
	if err != nil {
		t.Fatalf("Run() = %v", err)
	}
	if res.SilentlyDropped != 0 {
		t.Errorf("a request left out %d messages without saying so", res.SilentlyDropped)
	}
	if made && res.Unaccounted != 0 {
		t.Errorf("in spite of a summary, a request left out %d messages", res.Unaccounted)
	}
	// The messages must be complete, with nothing missing and nothing extra. Only
	// arguments may be as bad as the model wrote them.
	repaired := window.Repair(res.Messages)
	if len(repaired) != len(res.Messages) || strings.Contains(show(repaired), "(no result") {
		t.Errorf("Result.Messages need repair:\n%s", show(res.Messages))
	}
	return res
}

// show writes one line per message.
func show(msgs []sessions.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		b.WriteString(string(m.Role))
		if m.ToolCallID != "" {
			b.WriteString("(" + shortID(m.ToolCallID) + ")")
		}
		if m.Synthetic {
			b.WriteByte('*')
		}
		b.WriteString(": " + m.Content)
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " [%s %s %s]", shortID(c.ID), c.Name, c.Arguments)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func contains(t *testing.T, what, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %q:\n%s", what, want, window.Clip(got, 3000))
		}
	}
}

func TestNewRefuses(t *testing.T) {
	m := newScript(t, say("hi"))
	for name, test := range map[string]struct {
		model agent.Model
		tools []agent.Tool
		opts  agent.Options
		want  string
	}{
		"no model":        {nil, nil, agent.Options{}, "no model"},
		"two of one name": {m, []agent.Tool{newCounter("x"), newCounter("x")}, agent.Options{}, `"x"`},
		"no name":         {m, []agent.Tool{newCounter("")}, agent.Options{}, "name"},
		"bad name":        {m, []agent.Tool{newCounter("a.b")}, agent.Options{}, "a.b"},
		"bad schema":      {m, []agent.Tool{tool{spec: agent.Spec{Name: "x", Parameters: json.RawMessage("[]")}}}, agent.Options{}, "schema"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := agent.New(test.model, test.tools, test.opts)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("New() = %v, want an error about %q", err, test.want)
			}
		})
	}
}

func TestRunNeedsInput(t *testing.T) {
	a := newAgent(t, newScript(t, say("hi")), agent.Options{})
	if _, err := a.Run(t.Context(), agent.Turn{ID: "t1", Key: key}); !errors.Is(err, agent.ErrNoInput) {
		t.Errorf("Run() = %v, want ErrNoInput", err)
	}
}

// Every request is validated, whatever made it.
func TestMalformedRequestIsNotSent(t *testing.T) {
	m := newScript(t, say("ok"))
	a := newAgent(t, m, agent.Options{})
	for name, messages := range map[string][]sessions.Message{
		"no messages":    nil,
		"a stray result": {{Role: sessions.RoleUser, Content: "hi"}, {Role: sessions.RoleTool, ToolCallID: "a", Content: "x"}},
	} {
		if err := a.Complete(t.Context(), &agent.Request{Messages: messages}); !errors.Is(err, window.ErrShape) {
			t.Errorf("%s: Complete() = %v, want ErrShape", name, err)
		}
	}
	if n := len(m.requests()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

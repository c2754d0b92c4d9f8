package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

func TestRunAnswers(t *testing.T) {
	m := newScript(t, say("It is noon."))
	a := newAgent(t, &able{m, agent.Abilities{SeparatesThoughts: true}}, agent.Options{System: "You are Dragoman."}, newCounter("b"), newCounter("a"))
	var j journal
	var seen []agent.Progress
	turn := turnOf("What time is it?")
	turn.System = "Be brief."
	turn.History = sessions.History{
		Summary:  &sessions.Summary{Text: "Ada lives in Rome."},
		Messages: []sessions.Message{{Role: sessions.RoleUser, Content: "hi"}, {Role: sessions.RoleAssistant, Content: "hello"}},
	}
	turn.Record = j.record
	turn.Progress = func(p agent.Progress) { seen = append(seen, p) }
	res := run(t, a, turn)

	if diff := cmp.Diff([]sessions.Message{
		{Role: sessions.RoleUser, Content: "What time is it?", Sender: "7", At: t0, Turn: "t1"},
		{
			Role: sessions.RoleAssistant, Content: "It is noon.", At: t0, Turn: "t1", Model: "scripted",
			Usage: &sessions.Usage{Input: 100, Output: 10, Cached: 50},
		},
	}, res.Messages); diff != "" {
		t.Errorf("Messages (-want +got):\n%s", diff)
	}
	if res.Text != "It is noon." || res.Steps != 1 {
		t.Errorf("Result = %q, %d steps", res.Text, res.Steps)
	}
	if j.shape() != "" {
		t.Errorf("journal = %q, want it empty: the commit records the answer", j.shape())
	}
	if want := []agent.Progress{{}, {Text: "It "}, {Text: "It is "}, {Text: "It is noon."}}; !slices.Equal(seen, want) {
		t.Errorf("Progress = %q, want %q", seen, want)
	}
	req := m.requests()[0]
	contains(t, "system prompt", req.System, "You are Dragoman.\n\nBe brief.\n\n", "historical", "Ada lives in Rome.")
	if got := show(req.Messages); got != "user: hi\nassistant: hello\nuser: What time is it?\n" {
		t.Errorf("request messages:\n%s", got)
	}
	if len(req.Tools) != 2 || req.Tools[0].Name != "a" || req.Tools[1].Name != "b" {
		t.Errorf("request tools = %v, want a, b", req.Tools)
	}
	if turn.Input[0].Turn != "" {
		t.Error("Run changed the turn's input")
	}
}

// The provider's prompt cache can tell which requests belong to one conversation,
// from its first turn on and even after a /new, and learns nothing about who talks in
// it.
func TestRequestsNameTheirConversation(t *testing.T) {
	m := newScript(t, say("hello"), say("hello"), say("hello"), say("hello"))
	a := newAgent(t, m, agent.Options{})
	turn := turnOf("hi")
	for _, turn.History.Generation = range []string{"", "20260301_001", "20260301_002"} {
		run(t, a, turn)
	}
	turn.Key = channels.MustKey("cli:other")
	run(t, a, turn)
	got := m.requests()
	name := got[0].Key
	if len(name) != 16 || strings.Trim(name, "0123456789abcdef") != "" || got[1].Key != name || got[2].Key != name {
		t.Errorf("three turns of a conversation are named %q, %q and %q, want one number", name, got[1].Key, got[2].Key)
	}
	if got[3].Key == name {
		t.Errorf("two conversations are both named %q", name)
	}
}

func TestRunTools(t *testing.T) {
	m := newScript(t,
		answer(response("Let me look.", "tool_calls", parseCalls([]string{`c1 get {"n":1}`, `c2 get`})...)),
		call(`c3 put {"n":3}`),
		say("Done."))
	get, put := newCounter("get"), newCounter("put")
	a := newAgent(t, m, agent.Options{}, get, put)
	var j journal
	var notes []string
	turn := turnOf("do it")
	turn.Record = j.record
	turn.Private = true
	turn.Progress = func(p agent.Progress) {
		if p.Note != "" {
			notes = append(notes, p.Text+"|"+p.Note)
		}
	}
	res := run(t, a, turn)

	want := `user: do it
assistant: Let me look. [c1 get {"n":1}] [c2 get ]
tool(c1): get ran with {"n":1}
tool(c2): get ran with {}
assistant:  [c3 put {"n":3}]
tool(c3): put ran with {"n":3}
assistant: Done.
`
	if diff := cmp.Diff(want, show(res.Messages)); diff != "" {
		t.Errorf("Messages (-want +got):\n%s", diff)
	}
	if res.Text != "Let me look.\n\nDone." || res.Steps != 3 {
		t.Errorf("Result = %q, %d steps", res.Text, res.Steps)
	}
	if got, want := j.shape(), "model tool_start:c1 tool_done:c1 tool_start:c2 tool_done:c2 model tool_start:c3 tool_done:c3"; got != want {
		t.Errorf("journal = %q, want %q", got, want)
	}
	wantCall := agent.Call{ID: callID("c3"), Turn: turn.ID, Args: []byte(`{"n":3}`), Key: key, Person: turn.Person, Private: true, Taint: []sessions.Origin{sessions.OriginOthers}}
	if diff := cmp.Diff([]agent.Call{wantCall}, put.calls(), cmp.Comparer(func(a, b channels.Key) bool { return a == b })); diff != "" {
		t.Errorf("Call (-want +got):\n%s", diff)
	}
	if want := []string{"Let me look.|get …", "Let me look.|get …", "Let me look.|put …"}; !slices.Equal(notes, want) {
		t.Errorf("notes = %q, want %q", notes, want)
	}
	for i, msg := range res.Messages[1:] {
		if msg.Turn != "t1" || msg.At != t0 {
			t.Errorf("message %d has turn %q, time %v", i+1, msg.Turn, msg.At)
		}
	}
}

// TestRunIDs: some servers give every call the same id, or none.
func TestRunIDs(t *testing.T) {
	m := newScript(t, call(`call_0 get {"n":1}`, `call_0 get {"n":2}`), call(`call_0 get {"n":3}`), call(`- get {"n":4}`), say("Done."))
	get := newCounter("get")
	var j journal
	turn := turnOf("go")
	turn.Record = j.record
	res := run(t, newAgent(t, m, agent.Options{}, get), turn)
	if n := len(get.calls()); n != 4 {
		t.Errorf("%d calls ran, want 4", n)
	}
	for i, n := range []int{2, 3, 5, 7} {
		if want := fmt.Sprintf(`get ran with {"n":%d}`, i+1); res.Messages[n].Content != want {
			t.Errorf("message %d = %q, want %q", n, res.Messages[n].Content, want)
		}
	}
	seen := map[string]bool{}
	for _, s := range j.steps {
		if s.Kind == sessions.StepToolStart {
			if seen[s.CallID] {
				t.Errorf("two calls of the turn have the id %q", s.CallID)
			}
			seen[s.CallID] = true
		}
	}
}

// TestCase01To05RunRepairsHistory: acceptance cases 1 to 5 end to end; the script
// checks every request. agent/window/testdata/repair has each case alone.
func TestCase01To05RunRepairsHistory(t *testing.T) {
	m := newScript(t, say("ok"))
	turn := turnOf("go on")
	turn.History.Messages = []sessions.Message{
		{Role: sessions.RoleTool, ToolCallID: callID("x"), Content: "cut off"},
		{Role: sessions.RoleUser, Content: "first"},
		{Role: sessions.RoleAssistant, Content: "plain"},
		{Role: sessions.RoleTool, ToolCallID: callID("y"), Content: "nobody asked"},
		{Role: sessions.RoleAssistant, ToolCalls: parseCalls([]string{"l get {}"})},
		{Role: sessions.RoleUser, Content: "second"},
		{Role: sessions.RoleTool, ToolCallID: callID("l"), Content: "late"},
		{Role: sessions.RoleAssistant, ToolCalls: parseCalls([]string{"a get", "b get {"})},
		{Role: sessions.RoleTool, ToolCallID: callID("b")},
	}
	run(t, newAgent(t, m, agent.Options{}), turn)
	want := `user: first
assistant: plain [l get {}]
tool(l): late
assistant*: (I have the results.)
user: second
assistant:  [a get {}]
tool(a)*: (no result: this call was interrupted; it may or may not have happened)
assistant:  [b get {"invalid_arguments":"{"}]
tool(b): (no output)
assistant*: (I have the results.)
user: go on
`
	if diff := cmp.Diff(want, show(m.requests()[0].Messages)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestRunMaxSteps(t *testing.T) {
	t.Run("answers without tools", func(t *testing.T) {
		m := newScript(t, call(`a get {"n":1}`), call(`b get {"n":2}`), say("This is what I have."))
		res := run(t, newAgent(t, m, agent.Options{MaxSteps: 3}, newCounter("get")), turnOf("go"))
		if res.Text != "This is what I have." || res.Steps != 3 {
			t.Errorf("Result = %q after %d steps", res.Text, res.Steps)
		}
		reqs := m.requests()
		if len(reqs[1].Tools) != 1 || reqs[2].Tools != nil {
			t.Errorf("tools of the last two requests = %v, %v, want none in the last", reqs[1].Tools, reqs[2].Tools)
		}
		contains(t, "last request", show(reqs[2].Messages), "last step of this turn")
		if strings.Contains(show(res.Messages), "last step") {
			t.Error("the note about the last step is in the transcript")
		}
	})
	t.Run("wants tools for ever", func(t *testing.T) {
		n := 0
		m := newScript(t, func(context.Context, agent.Request, func(agent.Delta)) (agent.Response, error) {
			n++
			return response("", "tool_calls", sessions.ToolCall{ID: fmt.Sprint(n), Name: "get", Arguments: fmt.Sprintf(`{"n":%d}`, n)}), nil
		})
		get := newCounter("get")
		res := run(t, newAgent(t, m, agent.Options{}, get), turnOf("go"))
		if n != 10 || len(get.calls()) != 9 {
			t.Errorf("%d model calls and %d tool calls, want 10 and 9", n, len(get.calls()))
		}
		contains(t, "answer", res.Text, "I stopped: after 10 steps")
		if last := res.Messages[len(res.Messages)-1]; last.Role != sessions.RoleAssistant || !last.Synthetic {
			t.Errorf("last message = %+v, want a synthetic answer", last)
		}
	})
	t.Run("one step", func(t *testing.T) {
		m := newScript(t, say("hi"))
		run(t, newAgent(t, m, agent.Options{MaxSteps: 1}, newCounter("get")), turnOf("go"))
		if req := m.requests()[0]; req.Tools != nil || len(req.Messages) != 1 {
			t.Errorf("request = %d tools, %d messages, want 0 and 1", len(req.Tools), len(req.Messages))
		}
	})
}

// Acceptance case 37.
func TestCase37Repeats(t *testing.T) {
	for _, test := range []struct {
		name  string
		steps []string // the calls of each step, separated by ";"
		ran   int
		warns int
		stops bool
	}{
		{"three and then another", []string{`get {"a":1,"b":2}`, `get {"b":2,"a":1}`, `get { "a": 1, "b": 2 }`, `get {"a":2}`}, 4, 1, false},
		{"four", []string{`get {"a":1,"b":2}`, `get {"b":2,"a":1}`, `get {"a":1,"b":2}`, `get {"a":1,"b":2}`}, 3, 1, true},
		{"numbers that are not", []string{`get {"n":1}`, `get {"n":10}`, `get {"n":-1}`, `get {"n":"1"}`, `get {"n":1.01}`, `get {"n":1e999999999999999999999}`}, 6, 0, false},
		{"never in a row", []string{`get {"n":1}`, `get {"n":2}`, `get {"n":1}`, `get {"n":2}`, `get {"n":1}`}, 5, 0, false},
		{"large numbers", []string{`get {"n":9007199254740992}`, `get {"n":9007199254740993}`, `get {"n":9007199254740992}`, `get {"n":9007199254740993}`}, 4, 0, false},
		{"another tool", []string{`get {}`, `get {}`, `put {}`, `get {}`, `get {}`}, 5, 0, false},
		{"side by side", []string{`get {};get {};get {}`, `put {}`}, 4, 1, false},
		{"four side by side", []string{`get {};get {};get {};get {}`}, 3, 1, false},
		{"four side by side, and once more", []string{`get {};get {};get {};get {}`, `get {}`}, 3, 1, true},
		{"four side by side, twice", []string{`get {};get {};get {};get {};put {}`, `get {};get {};get {};get {}`}, 7, 1, true},
		{"over a border", []string{`get {};get {}`, `get {};get {};put {}`}, 4, 1, false},
		{"two that are warned of", []string{`get {}`, `get {}`, `get {}`, `put {}`, `put {}`, `put {}`}, 6, 2, false},
		{"no arguments", []string{`get `, `get {}`, `get `, `get {}`}, 3, 1, true},
		{"no JSON", []string{`get x`, `get x`, `get x`, `get x`}, 0, 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var replies []reply
			id := 0
			for _, step := range test.steps {
				var calls []string
				for c := range strings.SplitSeq(step, ";") {
					id++
					calls = append(calls, fmt.Sprintf("c%d %s", id, c))
				}
				replies = append(replies, call(calls...))
			}
			m := newScript(t, append(replies, say("Done."))...)
			get, put := newCounter("get"), newCounter("put")
			var j journal
			turn := turnOf("go")
			turn.Record = j.record
			res := run(t, newAgent(t, m, agent.Options{}, get, put), turn)

			if ran := len(get.calls()) + len(put.calls()); ran != test.ran {
				t.Errorf("%d calls ran, want %d", ran, test.ran)
			}
			all := show(res.Messages)
			if warns := strings.Count(all, "three times in a row"); warns != test.warns {
				t.Errorf("%d warnings, want %d:\n%s", warns, test.warns, all)
			}
			if stops := strings.Contains(res.Text, "I stopped: I kept calling the tool get"); stops != test.stops {
				t.Errorf("Text = %q, want stopped %v", res.Text, test.stops)
			}
			for i, msg := range res.Messages {
				if strings.Contains(msg.Content, "three times in a row") && res.Messages[i-1].Role != sessions.RoleTool {
					t.Errorf("the warning does not follow the results:\n%s", all)
				}
			}
			if got := strings.Count(j.shape(), "note"); got != test.warns {
				t.Errorf("journal = %q, want %d notes", j.shape(), test.warns)
			}
		})
	}
}

func TestRunSteer(t *testing.T) {
	m := newScript(t, call(`a get {"n":1}`), call(`b get {"n":2}`), say("Done."))
	get := newCounter("get")
	asked := 0
	turn := turnOf("go")
	turn.Steer = func(context.Context) ([]sessions.Message, error) {
		asked++
		if asked == 1 {
			return []sessions.Message{{Role: sessions.RoleUser, Content: "faster", Sender: "8", Name: "Bob", Turn: "t1"}}, nil
		}
		return nil, nil
	}
	res := run(t, newAgent(t, m, agent.Options{}, get), turn)
	if asked != 2 {
		t.Errorf("Steer was asked %d times, want 2: between the steps", asked)
	}
	if got := show(m.requests()[1].Messages); !strings.HasSuffix(got, "tool(a): get ran with {\"n\":1}\nassistant*: (I have the results.)\nuser: faster\n") {
		t.Errorf("second request:\n%s", got)
	}
	contains(t, "Messages", show(res.Messages), "user: faster\n")
	calls := get.calls()
	if calls[0].Person.ID() != "7" || calls[1].Person.ID() != "8" || calls[1].Person.Name != "Bob" {
		t.Errorf("persons of the calls = %v, %v, want 7 and then 8", calls[0].Person, calls[1].Person)
	}

	broken := errors.New("store is gone")
	turn.Steer = func(context.Context) ([]sessions.Message, error) { return nil, broken }
	m = newScript(t, call(`a get {}`), say("Done."))
	if _, err := newAgent(t, m, agent.Options{}, get).Run(t.Context(), turn); !errors.Is(err, broken) {
		t.Errorf("Run() = %v, want %v", err, broken)
	}
}

func TestRunEnds(t *testing.T) {
	for _, test := range []struct {
		name       string
		resp       agent.Response
		text, last string
	}{
		{"plain", response("Hello. \n", "stop"), "Hello.", "assistant: Hello.\n"},
		{"cut", response("Hello, I", "length"), "Hello, I\n\n(The answer was cut off here: it reached the length limit.)", "assistant: Hello, I\n"},
		{"filtered", response("Hello, I", "content_filter"), "Hello, I\n\n(The rest of the answer was held back by the model's content filter.)", "assistant: Hello, I\n"},
		{"cut before it began", response("", "length"), "(The answer was cut off here: it reached the length limit.)", "assistant*: (The answer was cut off here: it reached the length limit.)\n"},
		{"empty", response("", "stop"), "", "assistant*: (I gave no answer.)\n"},
		{"blank", response(" \u200b\u00a0\n", "stop"), "", "assistant*: (I gave no answer.)\n"},
		{"reasoning", response("<think>hm, </think>\n\nYes.", "stop"), "Yes.", "assistant: Yes.\n"},
		{"reasoning only", response("<think>hm", "stop"), "", "assistant*: (I gave no answer.)\n"},
		{"reasoning, cut", response("<think>hm", "length"), "(I was still thinking when I reached the length limit, so there is no answer.)", "assistant*: (I was still thinking when I reached the length limit, so there is no answer.)\n"},
		{"two blocks", response("\n<think>a</think> <think>b</think>Yes <think>", "stop"), "Yes <think>", "assistant: Yes <think>\n"},
		{"looks like a tag", response("<thin", "stop"), "<thin", "assistant: <thin\n"},
		{"not UTF-8", response("a\xffb", "stop"), "a\uFFFDb", "assistant: a\uFFFDb\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			res := run(t, newAgent(t, newScript(t, answer(test.resp)), agent.Options{}), turnOf("go"))
			if res.Text != test.text {
				t.Errorf("Text = %q, want %q", res.Text, test.text)
			}
			if got := show(res.Messages[len(res.Messages)-1:]); got != test.last {
				t.Errorf("last message = %q, want %q", got, test.last)
			}
		})
	}
}

// TestRunStreamsNoReasoning streams the same answer in pieces of every size.
func TestRunStreamsNoReasoning(t *testing.T) {
	const raw, visible = " \n<think>first this <b> </thin </think>\n<think></think> Yes, <think> is a tag.", "Yes, <think> is a tag."
	for size := 1; size <= len(raw); size++ {
		m := newScript(t, func(_ context.Context, _ agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
			onDelta(agent.Delta{Reasoning: "hidden"})
			for piece := range slices.Chunk([]byte(raw), size) {
				onDelta(agent.Delta{Text: string(piece)})
			}
			return response(raw, "stop"), nil
		})
		turn := turnOf("go")
		var last string
		turn.Progress = func(p agent.Progress) {
			if !strings.HasPrefix(visible, p.Text) || !strings.HasPrefix(p.Text, last) {
				t.Errorf("pieces of %d: Progress = %q after %q", size, p.Text, last)
			}
			last = p.Text
		}
		signs, pieces := 0, (len(raw)+size-1)/size
		turn.Alive = func() { signs++ }
		res := run(t, newAgent(t, m, agent.Options{}), turn)
		if signs != 1+pieces {
			t.Errorf("pieces of %d: %d signs of life, want one of the reasoning and %d of the text", size, signs, pieces)
		}
		if last != visible || res.Text != visible {
			t.Errorf("pieces of %d: last progress %q, Text %q, want %q", size, last, res.Text, visible)
		}
	}
}

// BenchmarkRun measures what the loop adds to a model without latency: a turn with
// one tool call after 40 messages.
func BenchmarkRun(b *testing.B) {
	m := quick{}
	a, err := agent.New(m, []agent.Tool{newCounter("get")}, agent.Options{System: "You are Dragoman."})
	if err != nil {
		b.Fatal(err)
	}
	turn := turnOf("go")
	turn.History.Messages = long(40)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Run(b.Context(), turn); err != nil {
			b.Fatal(err)
		}
	}
}

// quick is a model that makes one call and then answers.
type quick struct{}

func (quick) Name() string { return "quick" }

func (quick) Complete(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
	if r.Messages[len(r.Messages)-1].Role == sessions.RoleTool {
		return response("Done.", "stop"), nil
	}
	return response("", "tool_calls", sessions.ToolCall{ID: "a", Name: "get"}), nil
}

// Thoughts are passed to Turn.Thoughts, separated by call, and to nothing else.
func TestThoughtsArePassedOn(t *testing.T) {
	think := func(next reply, thoughts ...string) reply {
		return func(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
			for _, s := range thoughts {
				onDelta(agent.Delta{Reasoning: s})
			}
			return next(ctx, r, onDelta)
		}
	}
	m := newScript(t, think(call(`c1 get`), "I must ", "look."), think(say("Done."), "Now I know."))
	a := newAgent(t, m, agent.Options{}, newCounter("get"))
	var got strings.Builder
	turn := turnOf("look it up")
	turn.Thoughts = func(s string) { got.WriteString(s) }
	turn.Progress = func(p agent.Progress) {
		if strings.Contains(p.Text+p.Note, "know") {
			t.Errorf("Progress = %+v, want no thoughts in it", p)
		}
	}
	res := run(t, a, turn)
	if want := "I must look.\n\nNow I know."; got.String() != want {
		t.Errorf("Thoughts = %q, want %q", got.String(), want)
	}
	for _, m := range res.Messages {
		if strings.Contains(m.Content, "know") {
			t.Errorf("the transcript has %q, want no thoughts", m.Content)
		}
	}
}

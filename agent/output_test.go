package agent_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/agent"
)

// spoken streams text and ends with finish.
func spoken(text, finish string) reply {
	return func(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
		resp, err := say(text)(ctx, r, onDelta)
		resp.Finish = finish
		return resp, err
	}
}

// TestCallsInText: a call that the server left in the text is run, people do not see
// it, and the next request has it as a call.
func TestCallsInText(t *testing.T) {
	const text = "Let me look.\n<tool_call>\n{\"name\": \"get\", \"arguments\": {\"n\":1}}\n</tool_call>"
	get := newCounter("get")
	m := newScript(t, spoken(text, "stop"), say("It is 1."))
	var seen []string
	turn := turnOf("go")
	turn.Progress = func(p agent.Progress) { seen = append(seen, p.Text) }
	res := run(t, newAgent(t, m, agent.Options{}, get), turn)
	if len(get.calls()) != 1 || res.Text != "Let me look.\n\nIt is 1." {
		t.Errorf("%d calls, Text = %q", len(get.calls()), res.Text)
	}
	if s := strings.Join(seen, "|"); strings.Contains(s, "{") || strings.Contains(s, "<tool") {
		t.Errorf("people are shown %q", s)
	}
	last := m.requests()[1].Messages
	if c := last[1].ToolCalls; len(c) != 1 || c[0].Name != "get" || len(c[0].ID) != 9 || last[2].ToolCallID != c[0].ID {
		t.Errorf("the next request has\n%s", show(last))
	}
}

// TestCallsInTextAreOff: a call in the text is not run if the option says so, if the
// server reported a call before, or if there is no such tool.
func TestCallsInTextAreOff(t *testing.T) {
	const text = `{"name": "get", "arguments": {}}`
	for name, test := range map[string]struct {
		opts    agent.Options
		replies []reply
		tool    string
		calls   int
	}{
		"off":             {agent.Options{TextTools: agent.TextToolsOff}, []reply{say(text)}, "get", 0},
		"no such tool":    {agent.Options{}, []reply{say(text)}, "put", 0},
		"a server's call": {agent.Options{}, []reply{call(`c1 get {}`), say(text)}, "get", 1},
	} {
		get := newCounter(test.tool)
		res := run(t, newAgent(t, newScript(t, test.replies...), test.opts, get), turnOf("go"))
		if len(get.calls()) != test.calls || res.Text != text {
			t.Errorf("%s: %d calls, Text = %q; want %d and the text", name, len(get.calls()), res.Text, test.calls)
		}
	}
}

// TestCutAnswersCallNothing: the arguments may be incomplete.
func TestCutAnswersCallNothing(t *testing.T) {
	get := newCounter("get")
	res := run(t, newAgent(t, newScript(t, answer(response("I write it.", "length", parseCalls([]string{`c1 get {"n":1}`})...))), agent.Options{}, get), turnOf("go"))
	if len(get.calls()) != 0 || !strings.HasPrefix(res.Text, "I write it.\n\n(The answer was cut off") || res.Finish != "length" {
		t.Errorf("%d calls, Text = %q, Finish = %q", len(get.calls()), res.Text, res.Finish)
	}
}

// TestFirstAnswersAreHeldBack: until an answer of a model has ended, text that may
// turn out to be thoughts is not shown, unless its server separates thoughts.
func TestFirstAnswersAreHeldBack(t *testing.T) {
	const lone, plain = "Okay, they greet me. </think>\n\n Hello you.", "Hello you."
	cut := answer(response("Okay, they greet me", "length"))
	aside := func(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
		onDelta(agent.Delta{Reasoning: "They greet me."})
		return say(plain)(ctx, r, onDelta)
	}
	broken := func(_ context.Context, _ agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
		onDelta(agent.Delta{Text: "Okay, they greet "})
		return agent.Response{}, modelError(agent.ErrorTemporary, 0)
	}
	for name, test := range map[string]struct {
		replies []reply
		able    agent.Abilities
		learnt  map[string]bool
		want    []string // what people see of each answer while it streams
		learns  map[string]bool
	}{
		"a lone end":           {[]reply{say(lone)}, agent.Abilities{}, nil, []string{"Hello |Hello you.", "Hello |Hello you."}, map[string]bool{"scripted": true}},
		"marked":               {[]reply{say("<think>Hm. " + lone)}, agent.Abilities{}, nil, []string{"Hello |Hello you.", "Hello |Hello you."}, map[string]bool{"scripted": false}},
		"no thoughts":          {[]reply{say(plain)}, agent.Abilities{}, nil, []string{"", "Hello |Hello you."}, map[string]bool{"scripted": false}},
		"a broken stream":      {[]reply{broken, say(lone)}, agent.Abilities{}, nil, []string{"Hello |Hello you."}, map[string]bool{"scripted": true}},
		"cut in its thoughts":  {[]reply{cut, say(lone)}, agent.Abilities{}, nil, []string{"", "Hello |Hello you."}, map[string]bool{"scripted": true}},
		"a call first":         {[]reply{call("c1 get {}"), say(plain)}, agent.Abilities{}, nil, []string{"Hello |Hello you."}, map[string]bool{"scripted": false}},
		"known to think":       {[]reply{say(lone)}, agent.Abilities{}, map[string]bool{"scripted": true}, []string{"Hello |Hello you."}, nil},
		"known not to think":   {[]reply{say(plain)}, agent.Abilities{}, map[string]bool{"scripted": false}, []string{"Hello |Hello you."}, nil},
		"the table knows":      {[]reply{say(plain)}, agent.Abilities{SeparatesThoughts: true}, nil, []string{"Hello |Hello you."}, map[string]bool{"scripted": false}},
		"the wire tells":       {[]reply{aside}, agent.Abilities{}, nil, []string{"Hello |Hello you."}, map[string]bool{"scripted": false}},
		"not the one in cache": {[]reply{say(lone)}, agent.Abilities{}, map[string]bool{"other": false}, []string{"Hello |Hello you."}, map[string]bool{"scripted": true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var learns map[string]bool
				a := newAgent(t, &able{newScript(t, test.replies...), test.able}, agent.Options{
					UnmarkedThoughts: func(name string) (thinks, known bool) {
						thinks, known = test.learnt[name]
						return thinks, known
					},
					OnUnmarkedThoughts: func(name string, thinks bool) { learns = map[string]bool{name: thinks} },
				}, newCounter("get"))
				for i, want := range test.want {
					var seen []string
					turn := turnOf("hi")
					turn.Progress = func(p agent.Progress) {
						if p.Text != "" {
							seen = append(seen, p.Text)
						}
					}
					run(t, a, turn)
					if got := strings.Join(seen, "|"); got != want {
						t.Errorf("answer %d: shown %q, want %q", i, got, want)
					}
				}
				if !maps.Equal(learns, test.learns) {
					t.Errorf("learnt %v, want %v", learns, test.learns)
				}
			})
		})
	}
}

// TestCutThoughts: if a model begins with thoughts and is cut before they end, there
// is no answer.
func TestCutThoughts(t *testing.T) {
	thinks := func(string) (bool, bool) { return true, true }
	for text, want := range map[string]string{
		"Okay, they greet me":                 "(I was still thinking when I reached the length limit, so there is no answer.)",
		"Okay, they greet me. </think> Hello": "Hello\n\n(The answer was cut off here: it reached the length limit.)",
	} {
		res := run(t, newAgent(t, newScript(t, spoken(text, "length")), agent.Options{UnmarkedThoughts: thinks}), turnOf("hi"))
		if res.Text != want || !res.Thought {
			t.Errorf("%q: Text = %q, Thought = %v", text, res.Text, res.Thought)
		}
	}
}

// TestEmptyAnswersAlternate: after an empty answer the roles in the next request
// still alternate (the script checks that), and it says that there was no answer.
func TestEmptyAnswersAlternate(t *testing.T) {
	m := newScript(t, say(""), say(""), say("Here."))
	a := newAgent(t, m, agent.Options{})
	first := run(t, a, turnOf("hello?"))
	turn := turnOf("are you there?")
	turn.History.Messages = first.Messages
	run(t, a, turn)
	want := "user: hello?\nassistant*: (I gave no answer.)\nuser: are you there?\n"
	if got := show(m.requests()[2].Messages); got != want || first.Text != "" {
		t.Errorf("Text = %q, then the request has\n%s", first.Text, got)
	}
}

// TestOversizedRequestIsNotSent: a request that the model cannot read is not sent.
func TestOversizedRequestIsNotSent(t *testing.T) {
	m := newScript(t, say("ok"))
	a := newAgent(t, m, agent.Options{ContextWindow: 2000, System: strings.Repeat("word ", 4000)})
	_, err := a.Run(t.Context(), turnOf("go"))
	var me *agent.ModelError
	if !errors.As(err, &me) || me.Kind != agent.ErrorContext || len(m.requests()) != 0 {
		t.Errorf("Run() = %v after %d requests, want ErrorContext after none", err, len(m.requests()))
	}
	// A single message that is too long is cut to its ends.
	if _, err := newAgent(t, m, agent.Options{ContextWindow: 2000}).Run(t.Context(), turnOf(strings.Repeat("word ", 4000))); err != nil {
		t.Errorf("a message that is cut to fit: Run() = %v", err)
	}
}

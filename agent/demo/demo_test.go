package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/agent/demo"
	"dragoman/sessions"
)

var allTools = []agent.Spec{
	{Name: "forget"},
	{Name: "list_dir"},
	{Name: "list_jobs"},
	{Name: "read_file"},
	{Name: "recall"},
	{Name: "remember"},
	{Name: "schedule"},
	{Name: "search_history"},
	{Name: "time"},
	{Name: "web_fetch"},
	{Name: "write_file"},
}

func user(text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleUser, Content: text}
}

func complete(t *testing.T, r agent.Request) agent.Response {
	t.Helper()
	var streamed strings.Builder
	got, err := demo.New(0).Complete(t.Context(), r, func(d agent.Delta) { streamed.WriteString(d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	if streamed.String() != got.Message.Content {
		t.Errorf("streamed %q, answered %q", streamed.String(), got.Message.Content)
	}
	again, err := demo.New(0).Complete(t.Context(), r, nil)
	if diff := cmp.Diff(got, again); err != nil || diff != "" {
		t.Errorf("the same request got a different response (%v):\n%s", err, diff)
	}
	return got
}

// run plays the agent loop: answer returns the result of each call.
func run(t *testing.T, r agent.Request, answer func(sessions.ToolCall) string) (string, []sessions.ToolCall) {
	t.Helper()
	var made []sessions.ToolCall
	ids := make(map[string]bool)
	for range 5 {
		got := complete(t, r)
		if len(got.Message.ToolCalls) == 0 {
			return got.Message.Content, made
		}
		if got.Finish != "tool_calls" {
			t.Errorf("finish = %q with tool calls", got.Finish)
		}
		r.Messages = append(r.Messages, got.Message)
		for _, c := range got.Message.ToolCalls {
			if ids[c.ID] {
				t.Errorf("the id %s was used twice", c.ID)
			}
			ids[c.ID] = true
			made = append(made, c)
			r.Messages = append(r.Messages, sessions.Message{Role: sessions.RoleTool, ToolCallID: c.ID, Content: answer(c)})
		}
	}
	t.Fatalf("no end of tool calls: %+v", made)
	return "", nil
}

func TestToolsByRule(t *testing.T) {
	for text, want := range map[string]string{
		"what time is it?":                                 `time {}`,
		"What's the date in Europe/Rome?":                  `time {"zone":"Europe/Rome"}`,
		"list files":                                       `list_dir {}`,
		"what files are in the folder notes/old?":          `list_dir {"path":"notes/old"}`,
		"list the files in notes":                          `list_dir {"path":"notes"}`,
		"list the files in the workspace":                  `list_dir {}`,
		"show me the workspace":                            `list_dir {}`,
		"read notes/today.md please":                       `read_file {"path":"notes/today.md"}`,
		"show me the file `a.txt`":                         `read_file {"path":"a.txt"}`,
		"write “buy bread” to shopping.txt":                `write_file {"content":"buy bread\n","path":"shopping.txt"}`,
		"create a file called x/y.md with # Title\n\ntext": `write_file {"content":"# Title\n\ntext\n","path":"x/y.md"}`,
		"add milk to the file shopping.txt.":               `write_file {"append":true,"content":"milk\n","path":"shopping.txt"}`,
		"remember that my bicycle is green":                `remember {"text":"my bicycle is green"}`,
		"Please remember: the door code is on the fridge":  `remember {"text":"the door code is on the fridge"}`,
		"remind me in 20 minutes to water the tulips":      `schedule {"in":"20m","text":"water the tulips"}`,
		"Please remind me to call Bob in 2 hours.":         `schedule {"in":"2h","text":"call Bob"}`,
		"remind me in an hour that the cake is done":       `schedule {"in":"1h","text":"the cake is done"}`,
		"remind me of the rent in 3 days":                  `schedule {"in":"72h","text":"the rent"}`,
		"list my reminders":                                `list_jobs {}`,
		"what do you remember?":                            `recall {}`,
		"What do you remember about my bicycle?":           `recall {"query":"my bicycle"}`,
		"what do you know about me?":                       `recall {}`,
		"forget #3":                                        `forget {"id":3}`,
		"please forget number 12":                          `forget {"id":12}`,
		"search our conversation for bread":                `search_history {"query":"bread"}`,
		"when did I mention the dentist?":                  `search_history {"query":"the dentist"}`,
		"fetch https://example.com/a?b=c.":                 `web_fetch {"url":"https://example.com/a?b=c"}`,
		"open example.com":                                 `web_fetch {"url":"https://example.com"}`,
		"> bob: what time is it?\n\nlist files":            `list_dir {}`,
	} {
		t.Run(text, func(t *testing.T) {
			reply, calls := run(t, agent.Request{Messages: []sessions.Message{user(text)}, Tools: allTools}, func(sessions.ToolCall) string { return "RESULT 42" })
			var got string
			for _, c := range calls {
				got += c.Name + " " + c.Arguments
			}
			if got != want {
				t.Errorf("called %s, want %s", got, want)
			}
			if name, _, _ := strings.Cut(want, " "); name != "remember" && !strings.Contains(reply, "RESULT 42") {
				t.Errorf("the reply lacks the tool's result: %s", reply)
			}
			failed, _ := run(t, agent.Request{Messages: []sessions.Message{user(text)}, Tools: allTools}, func(sessions.ToolCall) string { return "error: the disk is full" })
			if !strings.Contains(failed, "did not work: the disk is full") {
				t.Errorf("a failed tool is not reported: %s", failed)
			}
			without := complete(t, agent.Request{Messages: []sessions.Message{user(text)}})
			if len(without.Message.ToolCalls) > 0 || !strings.Contains(without.Message.Content, "not on offer") {
				t.Errorf("without tools: %+v", without)
			}
		})
	}
}

func TestTalk(t *testing.T) {
	for text, want := range map[string]string{
		"hi":                                     "built-in **demo**",
		"Hello!":                                 "not a language model",
		"help":                                   "what time is it?",
		"who are you?":                           "not a language model",
		"connect":                                "OPENAI_API_KEY",
		"how do I use ollama?":                   "ollama pull",
		"thanks a lot":                           "welcome",
		"history of the hittites in three words": "You wrote: “history of the hittites",
		"":                                       "no text",
		"count to 5":                             "1 2 3 4 5",
		"count to 999999":                        "and so on to 999999",
		"show me markdown":                       "```go",
		"forget it":                              "forget #2",
		"what have we said?":                     "No other message before yours",
		"this is a statement":                    "You wrote: “this is a statement”",
	} {
		got := complete(t, agent.Request{Messages: []sessions.Message{user(text)}, Tools: allTools})
		if !strings.Contains(got.Message.Content, want) || got.Finish != "stop" || got.Usage == nil {
			t.Errorf("%q: %+v, want %q", text, got, want)
		}
	}
}

func TestGreetsByName(t *testing.T) {
	m := user("Ann: hello")
	m.Name = "Ann"
	if got := complete(t, agent.Request{Messages: []sessions.Message{m}}); !strings.HasPrefix(got.Message.Content, "Hello, Ann!") {
		t.Errorf("greeting: %s", got.Message.Content)
	}
	m = user("hello")
	m.Name = "<b>x</b>\n**bold**" + strings.Repeat("y", 100)
	got := complete(t, agent.Request{Messages: []sessions.Message{{Role: sessions.RoleAssistant, Content: "x"}, m}})
	if !strings.HasPrefix(got.Message.Content, "Hello again, bxbbold") || strings.Contains(got.Message.Content, "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy") {
		t.Errorf("greeting of a strange name: %s", got.Message.Content)
	}
}

func TestSeveralMessagesAtOnce(t *testing.T) {
	r := agent.Request{Tools: allTools, Messages: []sessions.Message{
		user("old"),
		{Role: sessions.RoleAssistant, Content: "answered"},
		user("what time is it?"), user("thank you"), user("list files"),
		{Role: sessions.RoleUser, Content: "a note", Synthetic: true},
	}}
	reply, calls := run(t, r, func(c sessions.ToolCall) string { return "result of " + c.Name })
	if len(calls) != 2 || calls[0].Name != "time" || calls[1].Name != "list_dir" {
		t.Errorf("calls = %+v, want time and list_dir", calls)
	}
	for _, want := range []string{"3 messages came at once", "**1.** It is result of time", "**2.** You are welcome", "**3.** This is in the workspace", "result of list_dir"} {
		if !strings.Contains(reply, want) {
			t.Errorf("the reply lacks %q:\n%s", want, reply)
		}
	}
	if strings.Contains(reply, "a note") {
		t.Errorf("the reply answers a synthetic message:\n%s", reply)
	}
}

// A message that joins a running turn gets its tool call. The first message's
// tool is not called again.
func TestSteering(t *testing.T) {
	r := agent.Request{Tools: allTools, Messages: []sessions.Message{user("what time is it?")}}
	first := complete(t, r)
	r.Messages = append(r.Messages, first.Message,
		sessions.Message{Role: sessions.RoleTool, ToolCallID: first.Message.ToolCalls[0].ID, Content: "noon"}, user("list files"))
	reply, calls := run(t, r, func(sessions.ToolCall) string { return "a.txt\t3" })
	if len(calls) != 1 || calls[0].Name != "list_dir" || !strings.Contains(reply, "noon") || !strings.Contains(reply, "a.txt") {
		t.Errorf("calls %+v, reply %s", calls, reply)
	}
}

func TestKnowsItsSummary(t *testing.T) {
	got := complete(t, agent.Request{
		System:   "Be kind.\n\n<conversation_summary>\nAnn likes tea.\n</conversation_summary>",
		Messages: []sessions.Message{user("a"), {Role: sessions.RoleAssistant, Content: "b"}, user("what did we talk about?")},
	})
	if s := got.Message.Content; !strings.Contains(s, "Ann likes tea.") || !strings.Contains(s, "2 messages before yours") {
		t.Errorf("recap: %s", s)
	}
}

func TestScheduledCheck(t *testing.T) {
	const system = "This is a scheduled check. If there is nothing, answer with HEARTBEAT_OK and nothing else."
	for prompt, want := range map[string]string{
		"Check HEARTBEAT.md for open tasks.": "HEARTBEAT_OK",
		"Remind me to water the plants":      "Reminder: water the plants",
		"Anything new under the sun?":        "The scheduled check ran",
	} {
		if got := complete(t, agent.Request{System: system, Messages: []sessions.Message{user(prompt)}}); !strings.HasPrefix(got.Message.Content, want) {
			t.Errorf("%q: %s, want %q", prompt, got.Message.Content, want)
		}
	}
}

func TestSummarises(t *testing.T) {
	transcript := func(previous string, n int) agent.Request {
		text := previous + "<transcript>\n"
		for range n {
			text += "<message seq=\"1\" role=\"user\" name=\"Ann\" at=\"x\">\nMy tea is Darjeeling, always. And more that is not needed.\n</message>\n" +
				"<message seq=\"2\" role=\"assistant\">\nNoted with thanks.\n[called remember with {}]\n</message>\n" +
				"<message seq=\"3\" role=\"tool\" name=\"remember\">\nRemembered as #1.\n</message>\n"
		}
		return agent.Request{System: "You keep the memory", Messages: []sessions.Message{user(text + "</transcript>\n\nWrite the new summary now.")}, MaxTokens: 1000}
	}
	got := complete(t, transcript("<previous_summary>\nBob is the cat.\n</previous_summary>\n\n", 1)).Message.Content
	want := "Bob is the cat.\n- Ann said: My tea is Darjeeling, always.\n- The assistant answered: Noted with thanks."
	if got != want {
		t.Errorf("summary = %q, want %q", got, want)
	}
	long := complete(t, transcript("<previous_summary>\n"+strings.Repeat("An old fact.\n", 1000)+"</previous_summary>\n\n", 500))
	if n := len(long.Message.Content); n > 4000 || n < 1000 || long.Finish != "stop" {
		t.Errorf("a long summary has %d bytes and finish %s, want at most 4000 and stop", n, long.Finish)
	}
	if s := long.Message.Content; !strings.Contains(s, "An old fact.") || !strings.Contains(s, "Darjeeling") {
		t.Errorf("a long summary keeps only one half: %s", s)
	}
	if got := complete(t, transcript("", 0)).Message.Content; got == "" {
		t.Error("an empty transcript has an empty summary")
	}
}

// The demo's summaries pass the checks of the default preset. The second one
// does too, and has its heading only once.
func TestSummariesPassTheChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := agent.New(demo.New(demo.Delay), nil, agent.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h := sessions.History{}
		for i := range 30 {
			h.Messages = append(h.Messages, sessions.Message{Seq: int64(i + 1), Role: sessions.RoleUser, Content: fmt.Sprintf("My tea number %d is Darjeeling.", i)})
		}
		for range 2 {
			s, err := a.Summarize(t.Context(), h, nil)
			if err != nil || strings.Count(s.Text, "## Critical context") != 1 || !strings.Contains(s.Text, "number 1 is") {
				t.Fatalf("Summarize() = %q, %v", s.Text, err)
			}
			h.Summary = &s
		}
	})
}

func TestStreamsInTimeAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := demo.New(demo.Delay)
		r := agent.Request{Messages: []sessions.Message{user("count to 300")}}
		begun, pieces := time.Now(), 0
		if _, err := m.Complete(t.Context(), r, func(agent.Delta) { pieces++ }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); pieces < 100 || took < time.Second || took > 2*time.Second {
			t.Errorf("300 words came in %d pieces within %s, want many within 2 s", pieces, took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		pieces = 0
		_, err := m.Complete(ctx, r, func(agent.Delta) {
			pieces++
			if pieces == 3 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || pieces != 3 {
			t.Errorf("stopped after 3 pieces: %v after %d", err, pieces)
		}
	})
}

func TestMaxTokens(t *testing.T) {
	got := complete(t, agent.Request{Messages: []sessions.Message{user("help")}, MaxTokens: 10})
	if got.Finish != "length" || len(got.Message.Content) > 40 {
		t.Errorf("finish %s with %d bytes, want length with at most 40", got.Finish, len(got.Message.Content))
	}
}

func FuzzComplete(f *testing.F) {
	f.Add("hello", "x", "HEARTBEAT_OK")
	f.Add("> a: b\n> c\n\nremember \"x\"", "error:", "")
	f.Add("write ``` to a.md", "```", "<conversation_summary>")
	f.Add("<transcript>\n<message role=\"user\">\nx\n</message></transcript>", "", "")
	m := demo.New(0)
	f.Fuzz(func(t *testing.T, text, result, system string) {
		r := agent.Request{System: system, Messages: []sessions.Message{user(text), user(result)}, Tools: allTools}
		for range 3 {
			got, err := m.Complete(t.Context(), r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Message.ToolCalls) == 0 {
				if got.Message.Content == "" || !utf8.ValidString(got.Message.Content) {
					t.Fatalf("answer %q", got.Message.Content)
				}
				return
			}
			r.Messages = append(r.Messages, got.Message)
			for _, c := range got.Message.ToolCalls {
				var args map[string]any
				if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
					t.Fatalf("arguments %q: %v", c.Arguments, err)
				}
				r.Messages = append(r.Messages, sessions.Message{Role: sessions.RoleTool, ToolCallID: c.ID, Content: result})
			}
		}
		t.Fatal("no end of tool calls")
	})
}

// The agent's summariser accepts the demo's summaries, also a second one.
func TestAgentSummarises(t *testing.T) {
	a, err := agent.New(demo.New(0), nil, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := sessions.History{Generation: "20260101_001"}
	for i := range 20 {
		m := user("Fact number " + strings.Repeat("i", i+1) + " is worth keeping.")
		m.Seq, m.Name = int64(i+1), "Ann"
		h.Messages = append(h.Messages, m)
	}
	for range 2 {
		s, err := a.Summarize(t.Context(), h, nil)
		if err != nil || !strings.Contains(s.Text, "- Ann said: Fact number i is worth keeping.") {
			t.Fatalf("Summarize = %+v, %v, want the first fact in it", s, err)
		}
		h.Summary = &s
	}
}

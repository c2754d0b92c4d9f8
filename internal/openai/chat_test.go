package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/internal/openai"
	"dragoman/internal/people"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// turns runs turns with an agent alone.
type turns struct{ *agent.Agent }

func (t turns) Given(ctx context.Context, turn agent.Turn) (agent.Result, error) {
	turn.Guard = agent.Unguarded
	return t.Run(ctx, turn)
}

// deed is a tool of ours that changes something.
type deed struct {
	name string
	mu   sync.Mutex
	done []string
	hold chan struct{} // if not nil, a call waits for it
}

func (d *deed) Spec() agent.Spec { return agent.Spec{Name: d.name, Description: "Do it."} }

func (d *deed) Run(ctx context.Context, c agent.Call) (string, error) {
	d.mu.Lock()
	d.done = append(d.done, string(c.Args))
	d.mu.Unlock()
	if d.hold != nil {
		select {
		case <-d.hold:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return "did " + string(c.Args), nil
}

func (d *deed) times() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.done)
}

// chatHouse is a house with a scripted model, a tool "deed" and a store.
type chatHouse struct {
	*house
	model *agenttest.Scripted
	deed  *deed
	store *sqlitetest.Store
	opts  openai.Options
}

func newChatHouse(t *testing.T, steps ...agenttest.Step) *chatHouse {
	t.Helper()
	h := &chatHouse{model: agenttest.Script(steps...), deed: &deed{name: "deed"}, store: sqlitetest.Open(t, nil)}
	a, err := agent.New(h.model, []agent.Tool{h.deed}, agent.Options{System: "Be kind.", Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	lent := map[string]int{}
	h.opts = openai.Options{
		Turns: turns{a}, Store: h.store, MaxPicture: 1 << 10, Now: time.Now,
		Lend: func(data []byte) (string, func()) {
			lent[string(data)]++
			return "lent/picture", func() { lent[string(data)]-- }
		},
	}
	h.house = newHouse(t, h.opts)
	t.Cleanup(func() {
		for _, n := range lent {
			if n != 0 {
				t.Error("a picture was not given back")
			}
		}
	})
	return h
}

// echo makes the model repeat what it reads.
func (h *chatHouse) echo() *chatHouse { return h.withDefault(agenttest.Echo()) }

// restart is what a crash and a new start leave: the store.
func (h *chatHouse) restart() { h.house = newHouse(h.t, h.opts) }

func (h *chatHouse) chat(body string, headers ...string) *http.Response {
	h.t.Helper()
	return h.send("POST", "/v1/chat/completions", body, headers...)
}

// hello is a request without anything else.
const hello = `{"model":"dragoman","messages":[{"role":"user","content":"hi"}]}`

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// frames are the data of a stream's events, with the id and the time made the same in all
// tests. Comments are left out.
func frames(t *testing.T, resp *http.Response) (list []string) {
	t.Helper()
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		t.Fatalf("%s with %s:\n%s", resp.Status, kind, body(t, resp))
	}
	var id string
	for event := range strings.SplitSeq(strings.TrimSuffix(body(t, resp), "\n\n"), "\n\n") {
		data, found := strings.CutPrefix(event, "data: ")
		if !found {
			t.Fatalf("an event %q in the stream", event)
		}
		var v struct {
			ID      string
			Created int64
		}
		if json.Unmarshal([]byte(data), &v) == nil && v.ID != "" {
			if id != "" && v.ID != id {
				t.Errorf("chunks of %s and %s in one stream", id, v.ID)
			}
			id = v.ID
			created, _ := json.Marshal(v.Created)
			data = strings.NewReplacer(id, "ID", string(created), "0").Replace(data)
		}
		list = append(list, data)
	}
	return list
}

func chunk(rest string) string {
	return `{"id":"ID","object":"chat.completion.chunk","created":0,"model":"dragoman","choices":` + rest + `}`
}

func TestChatWhole(t *testing.T) {
	h := newChatHouse(t, agenttest.Say("hello there"))
	resp := h.chat(`{"model":"dragoman","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}],"store":true,"odd":1}`)
	got := decoded(t, resp)
	if id, _ := got["id"].(string); !strings.HasPrefix(id, "chatcmpl-") || got["created"] == 0.0 {
		t.Errorf("id %v, created %v", got["id"], got["created"])
	}
	delete(got, "id")
	delete(got, "created")
	want := map[string]any{
		"object": "chat.completion", "model": "dragoman",
		"choices": []any{map[string]any{"index": 0.0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": "hello there"}}},
		"usage": map[string]any{
			"prompt_tokens": 10.0, "completion_tokens": 5.0, "total_tokens": 15.0, "prompt_tokens_details": map[string]any{"cached_tokens": 0.0},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || resp.StatusCode != 200 {
		t.Errorf("%s (-want +got):\n%s", resp.Status, diff)
	}
	r := h.model.Requests()[0]
	if !strings.HasPrefix(r.System, "Be kind.") || !strings.Contains(r.System, "Be brief.") || len(r.Messages) != 1 || r.Messages[0].Content != "hi" {
		t.Errorf("the model read %q, %v", r.System, r.Messages)
	}
	h.nothingKept()
}

// nothingKept proves that the store has no conversation and no note.
func (h *chatHouse) nothingKept() {
	h.t.Helper()
	list, err := h.store.Find(h.t.Context(), sessions.Query{Limit: 10})
	if err != nil || len(list) != 0 {
		h.t.Errorf("conversations: %v, %v, want none", list, err)
	}
	notes, err := h.store.Notes(h.t.Context(), sessions.NoteFilter{Owner: people.OperatorID})
	if err != nil || len(notes) != 0 {
		h.t.Errorf("notes: %v, %v, want none", notes, err)
	}
}

func TestChatStream(t *testing.T) {
	h := newChatHouse(t, agenttest.Say("first"), agenttest.Say("hello there"))
	h.chat(hello) // from now on the loop knows how the model writes
	list := frames(t, h.chat(`{"model":"dragoman","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`))
	var text strings.Builder
	for _, data := range list[1 : len(list)-3] {
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil || len(c.Choices) != 1 {
			t.Fatalf("%v in %s", err, data)
		}
		text.WriteString(c.Choices[0].Delta.Content)
	}
	if text.String() != "hello there" {
		t.Errorf("the pieces are %q", text.String())
	}
	ends := append(list[:1:1], list[len(list)-3:]...)
	if diff := cmp.Diff([]string{
		chunk(`[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]`),
		chunk(`[{"index":0,"delta":{},"finish_reason":"stop"}]`),
		chunk(`[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":0}}`),
		"[DONE]",
	}, ends); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}

const pay = `"tools":[{"type":"function","function":{"name":"pay","parameters":{"type":"object","$schema":"http://json-schema.org/draft-07/schema#"}}}]`

// A step that calls our tool and the client's returns the client's alone. With its result
// the turn goes on, knows what ours did, and does not do it again, also after a restart.
func TestMixedStep(t *testing.T) {
	h := newChatHouse(t,
		agenttest.Call(sessions.ToolCall{Name: "deed", Arguments: `{"a":1}`}, sessions.ToolCall{Name: "pay", Arguments: `{"n":2}`}),
		agenttest.Say("paid"))
	list := frames(t, h.chat(`{"model":"dragoman","stream":true,`+pay+`,"messages":[{"role":"user","content":"do and pay"}]}`))
	var c struct {
		Choices []struct {
			Delta struct {
				Calls json.RawMessage `json:"tool_calls"`
			}
		}
	}
	if err := json.Unmarshal([]byte(list[1]), &c); err != nil {
		t.Fatal(err)
	}
	var calls []struct{ ID string }
	if err := json.Unmarshal(c.Choices[0].Delta.Calls, &calls); err != nil || len(calls) != 1 {
		t.Fatalf("calls %s, %v, want one", c.Choices[0].Delta.Calls, err)
	}
	id := calls[0].ID
	if diff := cmp.Diff([]string{
		chunk(`[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]`),
		chunk(`[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"` + id + `","type":"function","function":{"name":"pay","arguments":"{\"n\":2}"}}]},"finish_reason":null}]`),
		chunk(`[{"index":0,"delta":{},"finish_reason":"tool_calls"}]`),
		"[DONE]",
	}, list); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	h.restart()
	resp := h.chat(`{"model":"dragoman",` + pay + `,"messages":[{"role":"user","content":"do and pay"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"pay","arguments":"{\"n\":2}"}}]},` +
		`{"role":"tool","tool_call_id":"` + id + `","content":"ok"}]}`)
	if got := body(t, resp); !strings.Contains(got, `"content":"paid"`) {
		t.Errorf("%s %s", resp.Status, got)
	}
	last := h.model.Requests()[1]
	var said []string
	for _, m := range last.Messages {
		said = append(said, string(m.Role)+": "+m.Content)
	}
	if diff := cmp.Diff([]string{"user: do and pay", "assistant: ", `tool: did {"a":1}`, "tool: ok"}, said); diff != "" || h.deed.times() != 1 {
		t.Errorf("%d deeds; the model read (-want +got):\n%s", h.deed.times(), diff)
	}
}

// A repeat of a request with a key gets the same answer, also after a restart, and no
// tool runs a second time.
func TestRepeats(t *testing.T) {
	for name, headers := range map[string][2][]string{
		"a key":             {{"Idempotency-Key", "k1"}, {"Idempotency-Key", "k1"}},
		"a counted repeat":  {{"X-Stainless-Retry-Count", "0"}, {"X-Stainless-Retry-Count", "1"}},
		"a key and a count": {{"Idempotency-Key", "k1"}, {"Idempotency-Key", "k1", "X-Stainless-Retry-Count", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newChatHouse(t, agenttest.Call(sessions.ToolCall{Name: "deed", Arguments: `{}`}), agenttest.Say("done"))
			first := h.chat(hello, headers[0]...)
			want := body(t, first)
			if first.StatusCode != 200 || !strings.Contains(want, "done") || first.Header.Get("Idempotency-Replayed") != "" {
				t.Fatalf("%s %s", first.Status, want)
			}
			h.restart()
			again := h.chat(hello, headers[1]...)
			if got := body(t, again); got != want || again.Header.Get("Idempotency-Replayed") != "true" || h.deed.times() != 1 {
				t.Errorf("%s, replayed %q, %d deeds:\n%s\nwant\n%s", again.Status, again.Header.Get("Idempotency-Replayed"), h.deed.times(), got, want)
			}
			if n := len(h.model.Requests()); n != 2 {
				t.Errorf("%d model calls, want 2", n)
			}
		})
	}
}

// The same body without a sign that it is a repeat is a new request.
func TestNoRepeat(t *testing.T) {
	h := newChatHouse(t, agenttest.Say("one"), agenttest.Say("two"), agenttest.Say("three"))
	h.chat(hello)
	if got := body(t, h.chat(hello)); !strings.Contains(got, "two") {
		t.Errorf("the second of two equal requests is answered %s", got)
	}
	h.chat(hello, "Idempotency-Key", "k")
	resp := h.chat(strings.Replace(hello, "hi", "ho", 1), "Idempotency-Key", "k")
	if no := refused(t, resp); resp.StatusCode != 422 || no["code"] != "idempotency_key_reused" {
		t.Errorf("another body with the same key = %s %v", resp.Status, no)
	}
	h.caller.TokenID = "2"
	h.model.Add(agenttest.Say("four"))
	if got := body(t, h.chat(hello, "Idempotency-Key", "k")); !strings.Contains(got, "four") {
		t.Errorf("the same key of another token is answered %s", got)
	}
}

// A turn that fails after a tool of ours has begun is not worth a repeat by itself. One
// that names the same key goes on where it stopped.
func TestFailureAfterTools(t *testing.T) {
	down := &agent.ModelError{Kind: agent.ErrorTemporary, Status: 500, Err: errors.New("it broke")}
	h := newChatHouse(t, agenttest.Call(sessions.ToolCall{Name: "deed", Arguments: `{}`}), agenttest.Fail(down), agenttest.Say("done"))
	resp := h.chat(hello, "Idempotency-Key", "k")
	if no := refused(t, resp); resp.StatusCode != 422 || no["code"] != "turn_failed" || resp.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%s %v, x-should-retry %q", resp.Status, no, resp.Header.Get("X-Should-Retry"))
	}
	h.restart()
	if got := body(t, h.chat(hello, "Idempotency-Key", "k")); !strings.Contains(got, "done") || h.deed.times() != 1 {
		t.Errorf("%d deeds, answer %s", h.deed.times(), got)
	}
}

// A repeat that comes while the first request runs gets the same answer.
func TestRepeatMeanwhile(t *testing.T) {
	h := newChatHouse(t, agenttest.Call(sessions.ToolCall{Name: "deed", Arguments: `{}`}), agenttest.Say("done"))
	h.deed.hold = make(chan struct{})
	answers := make(chan string, 2)
	ask := func(count string) { answers <- body(t, h.chat(hello, "X-Stainless-Retry-Count", count)) }
	go ask("0")
	for h.deed.times() == 0 {
		time.Sleep(time.Millisecond)
	}
	go ask("1")
	time.Sleep(20 * time.Millisecond)
	close(h.deed.hold)
	one, two := <-answers, <-answers
	if one != two || !strings.Contains(one, "done") || h.deed.times() != 1 {
		t.Errorf("%d deeds, answers\n%s%s", h.deed.times(), one, two)
	}
}

// Whoever hangs up ends the turn, and the tool that runs. What had begun is known to a
// repeat.
func TestHangUp(t *testing.T) {
	h := newChatHouse(t, agenttest.Call(sessions.ToolCall{Name: "deed", Arguments: `{}`}), agenttest.Say("done"))
	h.deed.hold = make(chan struct{})
	ctx, hangUp := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.sendIn(ctx, "POST", "/v1/chat/completions", hello, "Idempotency-Key", "k")
	}()
	for h.deed.times() == 0 {
		time.Sleep(time.Millisecond)
	}
	hangUp()
	<-ended
	h.restart()
	if got := body(t, h.chat(hello, "Idempotency-Key", "k")); !strings.Contains(got, "done") || h.deed.times() != 1 {
		t.Errorf("%d deeds, answer %s", h.deed.times(), got)
	}
	last := h.model.Requests()[1].Messages
	if text := last[len(last)-1].Content; !strings.Contains(text, "may or may not have happened") {
		t.Errorf("the model reads %q of the call that was cut off", text)
	}
}

// A failure before the first byte has a status; one after it ends the stream with an
// error object.
func TestFailures(t *testing.T) {
	fail := func(e agent.ModelError) agenttest.Step {
		e.Err = errors.New("the words of the server")
		return agenttest.Fail(&e)
	}
	for name, test := range map[string]struct {
		step   agenttest.Step
		status int
		code   string
		retry  string
	}{
		"busy":        {fail(agent.ModelError{Kind: agent.ErrorTemporary, Status: 429, After: time.Second}), 503, "upstream_error", ""},
		"bad key":     {fail(agent.ModelError{Kind: agent.ErrorRefused, Cause: agent.CauseKey}), 502, "upstream_error", "false"},
		"too long":    {fail(agent.ModelError{Kind: agent.ErrorContext}), 400, "context_length_exceeded", ""},
		"a filter":    {fail(agent.ModelError{Kind: agent.ErrorRefused, Cause: agent.CauseFilter}), 400, "content_filter", "false"},
		"our own bug": {agenttest.Fail(errors.New("secret")), 500, "internal_error", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newChatHouse(t).withDefault(test.step)
			for _, streams := range []string{hello, strings.Replace(hello, "{", `{"stream":true,`, 1)} {
				resp := h.chat(streams)
				no := refused(t, resp)
				if resp.StatusCode != test.status || no["code"] != test.code || resp.Header.Get("X-Should-Retry") != test.retry {
					t.Errorf("%s %v, x-should-retry %q, want %d %s", resp.Status, no, resp.Header.Get("X-Should-Retry"), test.status, test.code)
				}
				if message, _ := no["message"].(string); strings.Contains(message, "secret") {
					t.Errorf("the client reads %q", message)
				}
			}
		})
	}
}

func (h *chatHouse) withDefault(step agenttest.Step) *chatHouse {
	h.model.Otherwise(step)
	return h
}

func TestFailureInTheStream(t *testing.T) {
	broken := func(_ context.Context, _ agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
		onDelta(agent.Delta{Reasoning: "hm", Text: "half"})
		time.Sleep(50 * time.Millisecond) // until it is written
		return agent.Response{}, &agent.ModelError{Kind: agent.ErrorRefused, Err: errors.New("it broke")}
	}
	h := newChatHouse(t, broken)
	list := frames(t, h.chat(strings.Replace(hello, "{", `{"stream":true,`, 1)))
	want := `{"error":{"message":"The model's server refused the request: it broke","type":"server_error","param":null,"code":"upstream_error"}}`
	if n := len(list); n < 3 || list[n-1] != "[DONE]" || list[n-2] != want || !strings.Contains(strings.Join(list, ""), `"reasoning_content":"hm"`) {
		t.Errorf("frames:\n%s", strings.Join(list, "\n"))
	}
}

// A stream is never silent for long: a comment says that it lives, before the answer
// begins and after.
func TestBeat(t *testing.T) {
	h := newChatHouse(t, func(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
		time.Sleep(50 * time.Millisecond)
		return agenttest.Say("at last")(ctx, r, onDelta)
	})
	h.opts.Beat = 10 * time.Millisecond
	h.restart()
	text := body(t, h.chat(strings.Replace(hello, "{", `{"stream":true,`, 1)))
	if n := strings.Count(text, ": still here\n\n"); n < 2 || !strings.HasPrefix(text, ": ") || !strings.HasSuffix(text, "data: [DONE]\n\n") {
		t.Errorf("%d signs of life in\n%s", n, text)
	}
	whole := h.withDefault(agenttest.Say("at last")).chat(hello)
	if got := body(t, whole); strings.Contains(got, "still here") {
		t.Errorf("an answer that is no stream is %s", got)
	}
}

// panicking is Turns with a bug.
type panicking struct{ openai.Turns }

func (panicking) Given(context.Context, agent.Turn) (agent.Result, error) {
	panic("what somebody wrote")
}

// A bug ends its request, and not the daemon.
func TestPanic(t *testing.T) {
	h := newChatHouse(t)
	h.opts.Turns = panicking{h.opts.Turns}
	h.restart()
	resp := h.chat(hello)
	no := refused(t, resp)
	if message, _ := no["message"].(string); resp.StatusCode != 500 || strings.Contains(message, "somebody") {
		t.Errorf("%s %v", resp.Status, no)
	}
}

// Requests that hold too much memory together are told to come again.
func TestTooMany(t *testing.T) {
	h := newChatHouse(t).echo()
	h.deed.hold = make(chan struct{})
	h.model.Add(agenttest.Call(sessions.ToolCall{Name: "deed", Arguments: `{}`}))
	large := func() *http.Response {
		r := httptest.NewRequestWithContext(people.With(t.Context(), h.caller), "POST", "/v1/chat/completions", io.MultiReader(strings.NewReader(hello)))
		r.ContentLength = -1
		w := httptest.NewRecorder()
		h.api.ServeHTTP(w, r)
		return w.Result()
	}
	var all sync.WaitGroup
	for range 12 {
		h.model.Add(agenttest.Call(sessions.ToolCall{Name: "deed", Arguments: `{}`}))
		all.Go(func() { large() })
	}
	for h.deed.times() < 12 {
		time.Sleep(time.Millisecond)
	}
	resp := large()
	if no := refused(t, resp); resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("one more = %s %v", resp.Status, no)
	}
	close(h.deed.hold)
	all.Wait()
	if resp := large(); resp.StatusCode != 200 {
		t.Errorf("afterwards = %s", resp.Status)
	}
}

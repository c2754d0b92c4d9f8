package app_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels/live"
)

// speaker sends chat completions to a daemon.
type speaker struct {
	r     *running
	token string
}

// say sends a body and returns the status, the header and the body of the answer.
func (s speaker) say(ctx context.Context, body string, headers ...string) (int, http.Header, string, error) {
	s.r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.r.status().Listen+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		s.r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.token)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(data), err
}

// expect sends a body and expects a status, and a text in the answer.
func (s speaker) expect(status int, text, body string, headers ...string) http.Header {
	s.r.t.Helper()
	got, header, answer, err := s.say(s.r.t.Context(), body, headers...)
	if err != nil || got != status || !strings.Contains(answer, text) {
		s.r.t.Errorf("%s with %q = %d %s, %v, want %d with %q", body, headers, got, answer, err, status, text)
	}
	return header
}

func messages(texts ...string) string {
	roles := []string{"user", "assistant"}
	var list []string
	for i, text := range texts {
		list = append(list, `{"role":"`+roles[i%2]+`","content":"`+text+`"}`)
	}
	return `{"model":"dragoman","messages":[` + strings.Join(list, ",") + `]}`
}

// A request that names a conversation is a message of it.
func TestOpenAIInAConversation(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main"}, Reply: func(q *agenttest.Request) agenttest.Reply {
		if strings.Contains(q.LastUser(), "wait") {
			return func(x *agenttest.Exchange) { <-hold; agenttest.EchoReply(x) }
		}
		return nil
	}})
	r := newPlace(t, `model: {type: openai, base_url: "`+server.URL()+`", name: main, context_window: 100000, retries: 0}`).run()
	s := speaker{r, r.token("program", "", "chat")}
	const uuid = "web:0b9dd3a4-6d1a-4d2c-9f53-0d3b6a1c9e7f"
	in := []string{"X-Session-Key", uuid}

	s.expect(200, "echo: one", messages("one"), in...)
	s.expect(200, "echo: two", messages("one", "echo: one", "two"), in...)
	s.expect(200, "echo: three", `{"model":"main","conversation":{"id":"`+uuid+`"},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"three"}]}`)
	if got := server.Requests(); !strings.Contains(string(got[len(got)-1].Body), "Be brief.") {
		t.Error("the model did not read the client's instructions")
	}
	page := r.page(strings.TrimPrefix(uuid, "web:"))
	page.Header.Set("Authorization", "Bearer "+s.token)
	if items := r.feed(page); len(items) != 6 || items[5].Text != "echo: three" {
		t.Errorf("the page shows %d items, the last %+v", len(items), items[len(items)-1])
	}
	s.expect(422, "history_differs", messages("one", "echo: another", "four"), in...)
	s.expect(422, "history_differs", messages("one", "echo: one", "two", "echo: two", "three", "echo: three", "four", "echo: four", "five"), in...)
	s.expect(404, "model_not_found", `{"model":"other","messages":[{"role":"user","content":"six"}]}`, in...)
	s.expect(400, "tools", `{"model":"main","tools":[{"type":"function","function":{"name":"pay"}}],"messages":[{"role":"user","content":"six"}]}`, in...)
	s.expect(200, "echo: make a title", messages("make a title"), "X-Session-Key", uuid, "X-Session-Task", "title_generation")

	header := s.expect(200, "echo: seven", messages("seven"), "X-Session-Key", uuid, "Idempotency-Key", "k7")
	again := s.expect(200, "echo: seven", messages("seven"), "X-Session-Key", uuid, "Idempotency-Key", "k7")
	if header.Get("Idempotency-Replayed") != "" || again.Get("Idempotency-Replayed") != "true" {
		t.Error("the repeat is not marked")
	}
	s.expect(200, "data: [DONE]", `{"model":"dragoman","stream":true,"messages":[{"role":"user","content":"eight"}]}`, in...)

	var made struct{ ID string }
	if no := r.request("POST", "/v1/conversations", s.token, "{}", &made); no != nil || !strings.HasPrefix(made.ID, "conv_") {
		t.Fatalf("POST /v1/conversations = %v, %v", made, no)
	}
	s.expect(200, "echo: in it", `{"model":"dragoman","conversation":"`+made.ID+`","messages":[{"role":"user","content":"in it"}]}`)
	if no := r.request("GET", "/v1/conversations/"+made.ID, s.token, "", &made); no != nil {
		t.Errorf("GET /v1/conversations/%s = %v", made.ID, no)
	}
	other := speaker{r, r.token("ann", "telegram:42", "chat")}
	other.expect(200, "echo: mine", messages("mine"), in...) // a room of hers by that name
	for _, name := range []string{"web:telegram:43/x", "telegram:7", "nothing", "web:", "web:UPPER", "web:" + strings.Repeat("x", 65), "irc:#go"} {
		other.expect(404, "not_found", messages("theirs"), "X-Session-Key", name)
	}

	ctx, hangUp := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, _, _, err := s.say(ctx, messages("wait for it"), in...)
		ended <- err
	}()
	r.until("the turn to run", func() bool { return r.status().Turns == 1 })
	hangUp()
	if err := <-ended; err == nil {
		t.Error("the request that was hung up has an answer")
	}
	time.Sleep(50 * time.Millisecond)
	close(hold)
	r.until("the answer to come to the conversation", func() bool {
		items := r.feed(page)
		return items[len(items)-1].Text == "echo: wait for it"
	})
	if n := strings.Count(strings.Join(textsOf(r, page), "\n"), "seven"); n != 2 {
		t.Errorf("seven stands there %d times, want its message and its answer", n)
	}
}

func textsOf(r *running, page *live.Client) (texts []string) {
	for _, it := range r.feed(page) {
		texts = append(texts, it.Text)
	}
	return texts
}

// A pause of the configuration also holds for requests without a conversation.
func TestOpenAIInAPause(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "limits: {pause: {answer: 'Back on Monday.'}}")
	r := p.run()
	s := speaker{r, r.token("program", "", "chat")}
	s.expect(403, "Back on Monday.", messages("one"))
	p.write("limits: {pause: {answer: 'A moment.', keep: true}}")
	r.reload("reloaded")
	s.expect(429, "A moment.", messages("one"))
	p.write("")
	r.reload("reloaded")
	s.expect(200, "chat.completion", messages("one"))
}

// The models that people can choose in a chat are those of the configuration, and the chosen
// one answers.
func TestChooseAModel(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main", "small"}})
	r := newPlace(t, `model: {type: openai, base_url: "`+server.URL()+`", name: main, context_window: 100000, prices: {input: 2, output: 8}, `+
		`others: [{name: small, context_window: 8000}]}`).run()
	page := r.page("")
	const list = "main answers here. These can be chosen:\n\n- main, reads 100k tokens at once, 2 in and 8 out for a million tokens\n- small, reads 8000 tokens at once\n"
	if got := r.ask(page, "/model"); !strings.HasPrefix(got, list) {
		t.Errorf("/model says %q, want %q", got, list)
	}
	if got := r.ask(page, "/model small"); !strings.HasPrefix(got, "From the next answer on, small writes here.") {
		t.Errorf("/model small says %q", got)
	}
	r.ask(page, "hello")
	requests := server.Requests()
	if got := string(requests[len(requests)-1].Body); !strings.Contains(got, `"model":"small"`) {
		t.Errorf("the request goes to another model: %.200s", got)
	}
}

// Requests without a conversation pass the rate that messages of their person have. What is
// refused says when to come back, and the rate of others is their own.
func TestOpenAIRate(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "queue: {rate_per_minute: 3}").run()
	s := speaker{r, r.token("program", "", "chat")}
	for range 3 {
		s.expect(200, "chat.completion", messages("hello"), "Idempotency-Key", "same")
	}
	s.expect(200, "chat.completion", messages("hello"))
	s.expect(200, "chat.completion", messages("hello"))
	header := s.expect(429, `"type":"rate_limit_error"`, messages("hello"))
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 1 || seconds > 20 {
		t.Errorf("Retry-After is %q, want 1 to 20 seconds", header.Get("Retry-After"))
	}
	s.expect(429, "more than 3 requests in a minute", `{"model":"dragoman","stream":true,"messages":[{"role":"user","content":"hello"}]}`)
	other := speaker{r, r.token("ann", "telegram:42", "chat")}
	other.expect(200, "chat.completion", messages("hello"))
}

// Requests in the form of Open WebUI: all messages each time, the chat's id in a header, and
// titles as requests of the same chat.
func TestOpenWebUIsRequests(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main"}})
	r := newPlace(t, `model: {type: openai, base_url: "`+server.URL()+`", name: main, context_window: 100000, retries: 0}`).run()
	s := speaker{r, r.token("open-webui", "", "chat")}
	const chat = "3e4f0a52-94b5-4c58-8a0f-2f5c8a1d7b60"
	headers := []string{"X-Session-Key", "web:" + chat, "X-Session-Task", ""}
	stream := func(texts ...string) string {
		return strings.Replace(messages(texts...), "{", `{"stream":true,"stream_options":{"include_usage":true},"metadata":{"chat_id":"`+chat+`"},`, 1)
	}
	s.expect(200, "[DONE]", stream("one"), headers...)
	page := r.page(chat)
	page.Header.Set("Authorization", "Bearer "+s.token)
	first := r.feed(page)
	if len(first) != 2 {
		t.Fatalf("the room shows %+v, want the message and its answer", first)
	}
	s.expect(200, "[DONE]", stream("one", first[1].Text, "two"), headers...)
	s.expect(200, "chat.completion", messages("Make a title for this talk."), "X-Session-Key", "web:"+chat, "X-Session-Task", "title_generation")
	if items := r.feed(page); len(items) != 4 {
		t.Errorf("the room shows %d items, want 4: the title is no part of it", len(items))
	}
	s.expect(422, "history_differs", stream("one, changed", "another answer", "two"), headers...)
	s.expect(404, "You have no such conversation", stream("temporary"), "X-Session-Key", "web:local:abc", "X-Session-Task", "")
	s.expect(200, "[DONE]", stream("one", "an answer", "two")) // without the headers it keeps the chat
}

// Requests in the form of Home Assistant's custom integration: its functions as tools, a
// message with calls and without content, user with the id of the talk, and no more tools in the end.
func TestHomeAssistantsRequests(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main"}, Reply: func(q *agenttest.Request) agenttest.Reply {
		if q.Messages[len(q.Messages)-1].Role != "tool" {
			return agenttest.ToolReply(agenttest.ToolDelta{Index: agenttest.At(0), ID: "call_0", Name: "execute_services", Arguments: `{"list":[]}`})
		}
		return agenttest.TextReply("The light is on.")
	}})
	r := newPlace(t, `model: {type: openai, base_url: "`+server.URL()+`", name: main, context_window: 100000, retries: 0}`).run()
	s := speaker{r, r.token("home", "", "chat")}
	var models struct{ Data []struct{ ID string } }
	if no := r.request("GET", "/v1/models", s.token, "", &models); no != nil || models.Data[0].ID != "dragoman" {
		t.Fatalf("GET /v1/models = %v, %v", no, models)
	}
	const rest = `"user":"01JHA","max_tokens":150,"top_p":1,"temperature":0.5,"stream":true,"stream_options":{"include_usage":true},` +
		`"tools":[{"type":"function","function":{"name":"execute_services","description":"Call services.","parameters":{"type":"object","properties":{"list":{"type":"array","items":{"type":"object"}}}}}}],`
	const asked = `{"role":"system","content":"You are a house."},{"role":"user","content":"Light on"}`
	s.expect(200, `"name":"execute_services"`, `{"model":"dragoman",`+rest+`"tool_choice":"auto","messages":[`+asked+`]}`)
	const done = `,{"role":"assistant","tool_calls":[{"id":"abc123456","type":"function","function":{"name":"execute_services","arguments":"{\"list\": []}"}}]},` +
		`{"role":"tool","tool_call_id":"abc123456","content":"[{\"success\":true}]"}`
	s.expect(200, `"finish_reason":"stop"`, `{"model":"dragoman",`+rest+`"tool_choice":"none","messages":[`+asked+done+`]}`)
	s.expect(400, "functions", `{"model":"dragoman","functions":[{"name":"execute_services"}],"messages":[`+asked+`]}`)
}

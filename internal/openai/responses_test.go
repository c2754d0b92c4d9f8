package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/sessions"
)

func (h *chatHouse) respond(body string, headers ...string) *http.Response {
	h.t.Helper()
	return h.send("POST", "/v1/responses", body, headers...)
}

const payItem = `"tools":[{"type":"function","name":"pay","parameters":{"type":"object"},"strict":true}]`

// event is one of a stream of responses.
type event struct {
	Type  string
	Seq   int `json:"sequence_number"`
	Index int `json:"output_index"`
	Delta string
	Text  string
	Item  struct {
		ID, Type, Status, Name, Arguments string
		CallID                            string `json:"call_id"`
		Content                           []struct {
			Text        string
			Annotations []any
		}
	}
	Response struct {
		ID, Object, Status, Model string
		Created                   int64 `json:"created_at"`
		Output                    []any
		Usage                     *struct {
			Total int `json:"total_tokens"`
		}
	}
	Code, Message string
}

// events reads a stream, and checks what all events have.
func events(t *testing.T, resp *http.Response) (list []event) {
	t.Helper()
	if resp.StatusCode != 200 {
		t.Fatalf("%s %s", resp.Status, body(t, resp))
	}
	for one := range strings.SplitSeq(strings.TrimSuffix(body(t, resp), "\n\n"), "\n\n") {
		name, data, found := strings.Cut(one, "\ndata: ")
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil || !found || name != "event: "+e.Type || e.Seq != len(list) {
			t.Fatalf("%v in the event %q, number %d of the stream", err, one, len(list))
		}
		list = append(list, e)
	}
	return list
}

func kinds(list []event) (names []string) {
	for _, e := range list {
		if n := len(names); e.Type == "response.output_text.delta" && n > 0 && names[n-1] == e.Type {
			continue
		}
		names = append(names, e.Type)
	}
	return names
}

func TestResponsesStream(t *testing.T) {
	h := newChatHouse(t, agenttest.Say("first"), agenttest.Say("hello there"))
	h.chat(hello)
	list := events(t, h.respond(`{"model":"dragoman","stream":true,"input":"hi"}`))
	if diff := cmp.Diff([]string{
		"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
	}, kinds(list)); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	var text strings.Builder
	for _, e := range list {
		text.WriteString(e.Delta)
	}
	last := list[len(list)-1].Response
	if text.String() != "hello there" || last.Status != "completed" || len(last.Output) != 1 || last.Usage.Total != 15 || last.ID != list[0].Response.ID || last.Created == 0 {
		t.Errorf("%q, %+v", text.String(), last)
	}
	added, done := list[2].Item, list[len(list)-2].Item
	if !strings.HasPrefix(added.ID, "msg_") || added.Status != "in_progress" || done.ID != added.ID || done.Content[0].Text != "hello there" || done.Content[0].Annotations == nil {
		t.Errorf("the item begins as %+v and ends as %+v", added, done)
	}
}

func TestResponsesCalls(t *testing.T) {
	h := newChatHouse(t,
		agenttest.Call(sessions.ToolCall{Name: "deed", Arguments: `{}`}, sessions.ToolCall{Name: "pay", Arguments: `{"n":1}`}, sessions.ToolCall{Name: "pay", Arguments: `{"n":2}`}),
		agenttest.Say("paid"), agenttest.Say("thanks"))
	list := events(t, h.respond(`{"model":"dragoman","stream":true,`+payItem+`,"input":[{"role":"user","content":[{"type":"input_text","text":"pay"}]}]}`))
	one := []string{"response.output_item.added", "response.function_call_arguments.delta", "response.function_call_arguments.done", "response.output_item.done"}
	want := append([]string{"response.created", "response.in_progress"}, append(append(one, one...), "response.completed")...)
	if diff := cmp.Diff(want, kinds(list)); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	first, second := list[5].Item, list[9].Item
	if first.Name != "pay" || first.Status != "completed" || first.Arguments != `{"n":1}` || second.Arguments != `{"n":2}` || list[9].Index != 1 {
		t.Errorf("calls %+v and %+v", first, second)
	}
	h.restart()
	id := list[0].Response.ID
	results := `{"type":"function_call_output","call_id":"` + first.CallID + `","output":"ok"},{"type":"function_call_output","call_id":"` + second.CallID + `","output":[{"type":"input_text","text":"ok, too"}]}`
	resp := h.respond(`{"model":"dragoman",` + payItem + `,"previous_response_id":"` + id + `","input":[` + results + `]}`)
	if got := body(t, resp); !strings.Contains(got, `"text":"paid"`) {
		t.Fatalf("%s %s", resp.Status, got)
	}
	var said []string
	for _, m := range h.model.Requests()[1].Messages {
		said = append(said, string(m.Role)+": "+m.Content)
	}
	if diff := cmp.Diff([]string{"user: pay", "assistant: ", "tool: did {}", "tool: ok", "tool: ok, too"}, said); diff != "" || h.deed.times() != 1 {
		t.Errorf("%d deeds; the model read (-want +got):\n%s", h.deed.times(), diff)
	}

	// The same without a response before: the client sends everything.
	whole := `{"role":"user","content":"pay"},` + callText(first) + `,` + callText(second) + `,` + results
	h.respond(`{"model":"dragoman",` + payItem + `,"store":false,"input":[` + whole + `]}`)
	said = nil
	for _, m := range h.model.Requests()[2].Messages {
		said = append(said, string(m.Role)+": "+m.Content)
	}
	if diff := cmp.Diff([]string{"user: pay", "assistant: ", "tool: did {}", "tool: ok", "tool: ok, too"}, said); diff != "" || h.deed.times() != 1 {
		t.Errorf("%d deeds; the model read (-want +got):\n%s", h.deed.times(), diff)
	}
}

func callText(c struct {
	ID, Type, Status, Name, Arguments string
	CallID                            string `json:"call_id"`
	Content                           []struct {
		Text        string
		Annotations []any
	}
},
) string {
	text, _ := json.Marshal(map[string]string{"type": "function_call", "call_id": c.CallID, "name": c.Name, "arguments": c.Arguments})
	return string(text)
}

// A response names the one before, from any of them on, also after a restart, for its own
// person alone, until it is deleted.
func TestResponsesChain(t *testing.T) {
	h := newChatHouse(t).echo()
	id := func(resp *http.Response) string {
		t.Helper()
		v := decoded(t, resp)
		name, _ := v["id"].(string)
		if resp.StatusCode != 200 || name == "" {
			t.Fatalf("%s %v", resp.Status, v)
		}
		return name
	}
	one := id(h.respond(`{"model":"dragoman","input":"one","instructions":"Be brief."}`))
	h.restart()
	two := id(h.respond(`{"model":"dragoman","input":"two","previous_response_id":"` + one + `"}`))
	id(h.respond(`{"model":"dragoman","input":"three","previous_response_id":"` + two + `"}`))
	id(h.respond(`{"model":"dragoman","input":"else","previous_response_id":"` + one + `"}`))
	read := func(n int) (texts []string) {
		for _, m := range h.model.Requests()[n].Messages {
			texts = append(texts, m.Content)
		}
		return texts
	}
	if diff := cmp.Diff([]string{"one", "echo: one", "two", "echo: two", "three"}, read(2)); diff != "" {
		t.Errorf("the model read (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one", "echo: one", "else"}, read(3)); diff != "" {
		t.Errorf("the model read (-want +got):\n%s", diff)
	}
	if strings.Contains(h.model.Requests()[1].System, "Be brief.") {
		t.Error("instructions of an earlier response count")
	}
	got := decoded(t, h.send("GET", "/v1/responses/"+two, ""))
	if got["id"] != two || got["status"] != "completed" || got["previous_response_id"] != one {
		t.Errorf("GET = %v", got)
	}
	h.respond(`{"model":"dragoman","input":[{"role":"user","content":"one"},{"type":"item_reference","id":"` + strings.Replace(one, "resp_", "msg_", 1) + `"},{"role":"user","content":"more"}]}`)
	if diff := cmp.Diff([]string{"one", "echo: one", "more"}, read(4)); diff != "" {
		t.Errorf("the model read (-want +got):\n%s", diff)
	}
	me := h.caller
	h.caller.ID = "telegram:42"
	for _, request := range []string{"GET /v1/responses/" + two, "DELETE /v1/responses/" + two} {
		method, path, _ := strings.Cut(request, " ")
		if resp := h.send(method, path, ""); resp.StatusCode != 404 {
			t.Errorf("%s of somebody else = %s", request, resp.Status)
		}
	}
	if resp := h.respond(`{"model":"dragoman","input":"x","previous_response_id":"` + two + `"}`); resp.StatusCode != 404 {
		t.Errorf("somebody else goes on: %s", resp.Status)
	}
	h.caller = me
	if v := decoded(t, h.send("DELETE", "/v1/responses/"+two, "")); v["deleted"] != true {
		t.Errorf("DELETE = %v", v)
	}
	if resp := h.send("GET", "/v1/responses/"+two, ""); resp.StatusCode != 404 {
		t.Errorf("GET of what was deleted = %s", resp.Status)
	}
	forgotten := id(h.respond(`{"model":"dragoman","input":"one","store":false}`))
	if resp := h.send("GET", "/v1/responses/"+forgotten, ""); resp.StatusCode != 404 {
		t.Errorf("GET of what was not to be stored = %s", resp.Status)
	}
}

func TestResponsesFail(t *testing.T) {
	broken := func(_ context.Context, _ agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
		onDelta(agent.Delta{Reasoning: "hm", Text: "half"})
		time.Sleep(50 * time.Millisecond) // until it is written
		return agent.Response{}, &agent.ModelError{Kind: agent.ErrorRefused, Err: errors.New("it broke")}
	}
	h := newChatHouse(t, broken, agenttest.Fail(&agent.ModelError{Kind: agent.ErrorTemporary, Err: errors.New("away")}))
	list := events(t, h.respond(`{"model":"dragoman","stream":true,"input":"hi"}`))
	failed, last := list[len(list)-2], list[len(list)-1]
	if failed.Type != "response.failed" || failed.Response.Status != "failed" || last.Type != "error" || last.Code != "upstream_error" || !strings.Contains(last.Message, "it broke") {
		t.Errorf("the stream ends with %+v and %+v", failed, last)
	}
	if resp := h.respond(`{"model":"dragoman","stream":true,"input":"hi"}`); resp.StatusCode != 503 {
		t.Errorf("a failure before the stream = %s", resp.Status)
	}
}

func TestBadResponses(t *testing.T) {
	h := newChatHouse(t)
	item := func(text string) string {
		return `{"model":"dragoman","input":[` + text + `,{"role":"user","content":"hi"}]}`
	}
	for _, bad := range []struct{ body, param string }{
		{`{}`, "model"},
		{`{"model":"dragoman"}`, "input"},
		{`{"model":"dragoman","input":[]}`, "input"},
		{`{"model":"dragoman","input":7}`, "input"},
		{`{"model":"dragoman","input":["hi"]}`, "input[0]"},
		{`{"model":"dragoman","input":"hi","background":true}`, "background"},
		{`{"model":"dragoman","input":"hi","prompt":{"id":"x"}}`, "prompt"},
		{`{"model":"dragoman","input":"hi","tools":[{"type":"web_search"}]}`, "tools[0].type"},
		{`{"model":"dragoman","input":"hi","tools":[{"type":"function","name":"deed"}]}`, "tools[0].name"},
		{`{"model":"dragoman","input":"hi",` + payItem + `,"tool_choice":{"type":"function","name":"buy"}}`, "tool_choice"},
		{`{"model":"dragoman","input":"hi","max_output_tokens":0}`, "max_output_tokens"},
		{`{"model":"dragoman","input":"hi","reasoning":{"effort":"x"}}`, "reasoning.effort"},
		{`{"model":"dragoman","input":"hi","text":{"format":{"type":"xml"}}}`, "text.format.type"},
		{`{"model":"dragoman","input":"hi","text":{"format":{"type":"json_schema","name":"x"}}}`, "text.format.schema"},
		{`{"model":"dragoman","input":"hi","previous_response_id":"resp_none"}`, "previous_response_id"},
		{`{"model":"dragoman","input":"hi","previous_response_id":"resp_none","conversation":"conv_x"}`, "previous_response_id"},
		{item(`{"type":"function_call_output","output":"x"}`), "input[0].call_id"},
		{item(`{"type":"function_call_output","call_id":"c1","output":"x"}`), "input[0].call_id"},
		{item(`{"type":"function_call","call_id":"c1","name":"pay","arguments":"{}"}`), "input[0]"},
		{item(`{"type":"function_call","name":"pay","arguments":"{}"}`), "input[0].call_id"},
		{item(`{"type":"item_reference","id":"msg_1"}`), "input[0].id"},
		{item(`{"type":"item_reference","id":"fc_1"}`), "input[0].id"},
		{item(`{"type":"web_search_call"}`), "input[0].type"},
		{item(`{"role":"wizard","content":"x"}`), "input[0].role"},
		{item(`{"role":"user"}`), "input[0].content"},
		{item(`{"role":"user","content":[{"type":"input_audio"}]}`), "input[0].content[0].type"},
		{item(`{"role":"user","content":[{"type":"input_image","file_id":"x"}]}`), "input[0].content[0].type"},
		{item(`{"role":"user","content":[{"type":"input_image","image_url":"http://127.0.0.1/"}]}`), "input[0].content[0].image_url"},
		{`{"model":"dragoman","input":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]}`, "input[1]"},
	} {
		resp := h.respond(bad.body)
		no := refused(t, resp)
		param, _ := no["param"].(string)
		if resp.StatusCode != 400 && resp.StatusCode != 404 || param != bad.param {
			t.Errorf("%s\n= %s %v, want the param %q", bad.body, resp.Status, no, bad.param)
		}
	}
	h.nothingKept()
}

package openai_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// user is a list of messages that nothing is wrong with.
const user = `"messages":[{"role":"user","content":"hi"}]`

// with is a request with one more field.
func with(field string) string { return `{"model":"dragoman",` + user + `,` + field + `}` }

// saying is a request with one message before the user's.
func saying(message string) string {
	return `{"model":"dragoman","messages":[` + message + `,{"role":"user","content":"hi"}]}`
}

// showing is a request whose only message has one part beside a text.
func showing(part string) string {
	return `{"model":"dragoman","messages":[{"role":"user","content":[{"type":"text","text":"hi"},` + part + `]}]}`
}

// badChats are requests that are refused, with the status and the param.
var badChats = []struct{ body, param string }{
	{``, ""},
	{`{`, ""},
	{`null`, ""},
	{`[]`, ""},
	{`"hi"`, ""},
	{`{"model":"dragoman"} {}`, ""},
	{`{}`, "model"},
	{`{"model":7,` + user + `}`, "model"},
	{`{"model":"",` + user + `}`, "model"},
	{`{"model":null,` + user + `}`, "model"},
	{`{"model":"gpt-9",` + user + `}`, "model"},
	{`{"model":"dragoman"}`, "messages"},
	{`{"model":"dragoman","messages":null}`, "messages"},
	{`{"model":"dragoman","messages":[]}`, "messages"},
	{`{"model":"dragoman","messages":"hi"}`, "messages"},
	{`{"model":"dragoman","messages":{"role":"user"}}`, "messages"},
	{`{"model":"dragoman","messages":["hi"]}`, "messages[0]"},
	{`{"model":"dragoman","messages":[null]}`, "messages[0]"},
	{`{"model":"dragoman","messages":[{"role":"assistant","content":"hi"}]}`, "messages"},
	{saying(`{}`), "messages[0].role"},
	{saying(`{"role":"wizard","content":"hi"}`), "messages[0].role"},
	{saying(`{"role":7,"content":"hi"}`), "messages[0].role"},
	{saying(`{"role":"function","name":"f","content":"hi"}`), "messages[0].role"},
	{saying(`{"role":"user"}`), "messages[0].content"},
	{saying(`{"role":"user","content":null}`), "messages[0].content"},
	{saying(`{"role":"user","content":7}`), "messages[0].content"},
	{saying(`{"role":"user","content":{"type":"text"}}`), "messages[0].content"},
	{saying(`{"role":"user","content":["hi"]}`), "messages[0].content[0]"},
	{saying(`{"role":"assistant"}`), "messages[0].content"},
	{saying(`{"role":"assistant","content":"x","function_call":{"name":"f","arguments":"{}"}}`), "messages[0].function_call"},
	{saying(`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`), "messages[0]"},
	{saying(`{"role":"assistant","tool_calls":[{"id":"1","type":"function"}]}`), "messages[0].tool_calls[0].function"},
	{saying(`{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]}`), "messages[0].tool_calls[0].id"},
	{saying(`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"arguments":"{}"}}]}`), "messages[0].tool_calls[0].function.name"},
	{saying(`{"role":"assistant","tool_calls":"f"}`), "messages[0].tool_calls"},
	{saying(`{"role":"tool","content":"ok"}`), "messages[0].tool_call_id"},
	{saying(`{"role":"tool","tool_call_id":"1","content":"ok"}`), "messages[0].tool_call_id"},
	{`{"model":"dragoman","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]}`, "messages[1]"},
	{`{"model":"dragoman","messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`, "messages[1]"},
	{showing(`{}`), "messages[0].content[1].type"},
	{showing(`{"type":"input_audio","input_audio":{}}`), "messages[0].content[1].type"},
	{showing(`{"type":"file","file":{"file_id":"x"}}`), "messages[0].content[1].type"},
	{showing(`{"type":"image_url"}`), "messages[0].content[1].image_url"},
	{showing(`{"type":"image_url","image_url":"data:"}`), "messages[0].content[1].image_url"},
	{showing(`{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}`), "messages[0].content[1].image_url.url"},
	{showing(`{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}`), "messages[0].content[1].image_url.url"},
	{showing(`{"type":"image_url","image_url":{"url":"data:image/png;base64,????"}}`), "messages[0].content[1].image_url.url"},
	{showing(`{"type":"image_url","image_url":{"url":"data:image/png;base64,aGVsbG8="}}`), "messages[0].content[1].image_url.url"},
	{with(`"temperature":3`), "temperature"},
	{with(`"temperature":-1`), "temperature"},
	{with(`"temperature":"hot"`), "temperature"},
	{with(`"top_p":1.5`), "top_p"},
	{with(`"presence_penalty":3`), "presence_penalty"},
	{with(`"frequency_penalty":-3`), "frequency_penalty"},
	{with(`"max_tokens":0`), "max_tokens"},
	{with(`"max_completion_tokens":-1`), "max_completion_tokens"},
	{with(`"max_tokens":1.5`), "max_tokens"},
	{with(`"seed":"x"`), "seed"},
	{with(`"stop":["a","b","c","d","e"]`), "stop"},
	{with(`"stop":7`), "stop"},
	{with(`"n":2`), "n"},
	{with(`"n":0`), "n"},
	{with(`"logprobs":true`), "logprobs"},
	{with(`"top_logprobs":3`), "top_logprobs"},
	{with(`"stream":"yes"`), "stream"},
	{with(`"stream_options":7`), "stream_options"},
	{with(`"reasoning_effort":"enormous"`), "reasoning_effort"},
	{with(`"response_format":{"type":"xml"}`), "response_format.type"},
	{with(`"response_format":"json"`), "response_format"},
	{with(`"response_format":{"type":"json_schema"}`), "response_format.json_schema"},
	{with(`"response_format":{"type":"json_schema","json_schema":{"name":"x"}}`), "response_format.json_schema.schema"},
	{with(`"modalities":["audio"]`), "modalities"},
	{with(`"audio":{"voice":"x"}`), "audio"},
	{with(`"functions":[{"name":"f"}]`), "functions"},
	{with(`"tools":{}`), "tools"},
	{with(`"tools":[{"type":"web_search"}]`), "tools[0].type"},
	{with(`"tools":[{"type":"function"}]`), "tools[0].function"},
	{with(`"tools":[{"type":"function","function":{}}]`), "tools[0].function.name"},
	{with(`"tools":[{"type":"function","function":{"name":"a b"}}]`), "tools[0].function.name"},
	{with(`"tools":[{"type":"function","function":{"name":"deed"}}]`), "tools[0].function.name"},
	{with(`"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}]`), "tools[1].function.name"},
	{with(`"tools":[{"type":"function","function":{"name":"f","parameters":[]}}]`), "tools[0].function.parameters"},
	{with(`"tool_choice":"required"`), "tool_choice"},
	{with(`"tool_choice":"perhaps"`), "tool_choice"},
	{with(pay + `,"tool_choice":{"type":"function","function":{"name":"buy"}}`), "tool_choice"},
	{with(`"parallel_tool_calls":1`), "parallel_tool_calls"},
}

// Bad requests are refused in OpenAI's form, name their place, and change nothing.
func TestBadChats(t *testing.T) {
	h := newChatHouse(t)
	for _, bad := range badChats {
		resp := h.chat(bad.body)
		no := refused(t, resp)
		want := http.StatusBadRequest
		if strings.Contains(bad.body, "gpt-9") {
			want = http.StatusNotFound
		}
		param, _ := no["param"].(string)
		if resp.StatusCode != want || param != bad.param || no["type"] != "invalid_request_error" {
			t.Errorf("%s\n= %s %v, want %d with the param %q", bad.body, resp.Status, no, want, bad.param)
		}
	}
	if n := len(badChats); n < 60 {
		t.Errorf("%d bad requests, want 60", n)
	}
	for _, headers := range [][]string{
		{"Content-Type", "text/plain"},
		{"Content-Type", "multipart/form-data; boundary=x"},
		{"Idempotency-Key", "a b"},
		{"Idempotency-Key", strings.Repeat("x", 256)},
		{"Idempotency-Key", "ü"},
	} {
		if resp := h.chat(hello, headers...); resp.StatusCode != 400 && resp.StatusCode != 415 {
			t.Errorf("with %q: %s", headers, resp.Status)
		}
	}
	big := h.chat(`{"model":"` + strings.Repeat("x", 20<<20) + `"}`)
	if no := refused(t, big); big.StatusCode != 413 {
		t.Errorf("21 MiB = %s %v", big.Status, no)
	}
	picture := h.chat(showing(`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("A", 4<<10) + `"}}`))
	if no := refused(t, picture); picture.StatusCode != 413 || no["param"] != "messages[0].content[1].image_url.url" {
		t.Errorf("a large picture = %s %v", picture.Status, no)
	}
	if n := len(h.model.Requests()); n != 0 {
		t.Errorf("%d model calls, want none", n)
	}
	h.nothingKept()
}

// What clients really send is taken.
func TestGoodChats(t *testing.T) {
	for name, body := range map[string]string{
		"only instructions":     `{"model":"dragoman","messages":[{"role":"system","content":"Make a title for: a cat"}]}`,
		"a developer":           saying(`{"role":"developer","content":[{"type":"text","text":"Be brief."}]}`),
		"nulls":                 with(`"temperature":null,"stop":null,"tools":null,"tool_choice":null,"response_format":null,"stream_options":null,"n":null`),
		"n is one":              with(`"n":1,"logprobs":false,"modalities":["text"]`),
		"one stop":              with(`"stop":"END"`),
		"an empty text":         `{"model":"dragoman","messages":[{"role":"user","content":""}]}`,
		"parts":                 showing(`{"type":"text","text":"there"}`),
		"a picture":             showing(`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `","detail":"low"}}`),
		"another model":         strings.Replace(hello, "dragoman", "fake-small", 1),
		"a refusal before":      saying(`{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}`),
		"an assistant first":    saying(`{"role":"assistant","content":"Hello!"}`),
		"json_object":           with(`"response_format":{"type":"json_object"}`),
		"the user of a program": with(`"user":"someone","metadata":{"a":"b"},"service_tier":"auto"`),
		"content null, calls":   `{"model":"dragoman",` + pay + `,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"pay","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_0","content":[{"type":"text","text":"ok"}]}]}`,
		"content empty, calls":  `{"model":"dragoman",` + pay + `,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[{"id":"call_0","type":"function","function":{"name":"pay","arguments":{}}}]},{"role":"tool","tool_call_id":"call_0","content":""}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			h := newChatHouse(t).echo()
			if resp := h.chat(body); resp.StatusCode != 200 {
				t.Errorf("%s: %v", resp.Status, refused(t, resp))
			}
		})
	}
}

// png is a picture of one pixel.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// The wishes and the pictures of a request reach the model.
func TestWishes(t *testing.T) {
	h := newChatHouse(t).echo()
	h.chat(`{"model":"dragoman","temperature":0,"top_p":0.5,"max_tokens":100,"max_completion_tokens":50,"stop":["END"],"seed":7,"reasoning_effort":"low",` +
		`"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"},"strict":true}},"messages":[{"role":"user","content":[` +
		`{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `"}}]}]}`)
	r := h.model.Requests()[0]
	if r.Temperature == nil || *r.Temperature != 0 || *r.TopP != 0.5 || r.MaxTokens != 50 || r.Stop[0] != "END" || *r.Seed != 7 || r.Effort != "low" || string(r.Format) != `{"type":"object"}` {
		t.Errorf("the request has other wishes: %+v", r)
	}
	if !strings.Contains(r.System, `{"type":"object"}`) {
		t.Errorf("a model whose server obeys no schema reads nothing of it: %s", r.System)
	}
	m := r.Messages[0]
	if len(m.Attachments) != 1 || m.Attachments[0].File != "lent/picture" || !m.Attachments[0].IsImage() || !strings.HasPrefix(m.Content, "What is it?\n[image, image/png") {
		t.Errorf("the model reads %q with %v", m.Content, m.Attachments)
	}
}

// Only the last user message is the word of the token's person.
func TestWhoseWords(t *testing.T) {
	h := newChatHouse(t).echo()
	h.chat(`{"model":"dragoman","messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"three"},{"role":"assistant","content":"four"},{"role":"user","content":"five"}]}`)
	var got []string
	for _, m := range h.model.Requests()[0].Messages {
		got = append(got, m.Content+" "+string(m.Via))
	}
	if diff := cmp.Diff([]string{"one others", "two ", "three others", "four ", "five api"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

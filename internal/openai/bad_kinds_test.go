package openai_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// values are one JSON value of each kind.
var values = map[string]string{"text": `"x y"`, "number": `7.5`, "truth": `true`, "list": `[1]`, "object": `{"a":1}`}

// wrongKinds are requests in which one field has a value of a kind that it cannot have.
// whole makes a request of a field's JSON; fields are the kinds that each may have.
func wrongKinds(path string, whole func(field string) string, fields map[string]string) (all []badRequest) {
	for field, good := range fields {
		for kind, value := range values {
			if !slices.Contains(strings.Fields(good), kind) {
				all = append(all, badRequest{what: field + " is a " + kind, path: path, body: whole(fmt.Sprintf("%q:%s", field, value)), param: field, want: 400})
			}
		}
	}
	return all
}

// badRequest is a request that is refused. method is POST and kind JSON if they are "".
type badRequest struct {
	what, method, path, kind, body, param string
	want                                  int
}

// replacing is a request of a field, which comes instead of the good one if that exists.
func replacing(good string) func(field string) string {
	return func(field string) string {
		name, _, _ := strings.Cut(field, ":")
		kept := []string{field}
		for _, part := range strings.Split(good, "\t") {
			if !strings.HasPrefix(part, name) {
				kept = append(kept, part)
			}
		}
		return "{" + strings.Join(kept, ",") + "}"
	}
}

func badFields() (all []badRequest) {
	const chats, responses = "/v1/chat/completions", "/v1/responses"
	model := `"model":"dragoman"`
	common := map[string]string{
		"model": "text", "temperature": "number", "top_p": "number", "stream": "truth", "tools": "list",
		"tool_choice": "text object", "parallel_tool_calls": "truth", "conversation": "text object",
	}
	all = append(all, wrongKinds(chats, replacing(model+"\t"+user), common)...)
	all = append(all, wrongKinds(responses, replacing(model+"\t"+`"input":"hi"`), common)...)
	all = append(all, wrongKinds(chats, replacing(model+"\t"+user), map[string]string{
		"messages": "list", "max_tokens": "", "max_completion_tokens": "", "seed": "", "n": "", "presence_penalty": "number",
		"frequency_penalty": "number", "stop": "text list", "logprobs": "truth", "stream_options": "object",
		"reasoning_effort": "text", "response_format": "object",
	})...)
	all = append(all, wrongKinds(responses, replacing(model+"\t"+`"input":"hi"`), map[string]string{
		"input": "text list", "instructions": "text", "max_output_tokens": "", "store": "truth", "reasoning": "object",
		"text": "object", "previous_response_id": "text", "background": "truth",
	})...)
	message := replacing(`"role":"user"` + "\t" + `"content":"hi"`)
	for _, b := range wrongKinds(chats, func(f string) string { return saying(message(f)) }, map[string]string{"role": "", "content": "text list"}) {
		b.param = "messages[0]." + b.param
		all = append(all, b)
	}
	for _, b := range wrongKinds(responses, func(f string) string {
		return `{` + model + `,"input":[` + message(f) + `]}`
	}, map[string]string{"role": "", "content": "text list"}) {
		b.param = "input[0]." + b.param
		all = append(all, b)
	}
	function := replacing(`"name":"f"`)
	for _, b := range wrongKinds(chats, func(f string) string {
		return with(`"tools":[{"type":"function","function":` + function(f) + `}]`)
	}, map[string]string{"name": "", "description": "text", "parameters": "object"}) {
		b.param = "tools[0].function." + b.param
		all = append(all, b)
	}
	return all
}

// badBytes are bodies that are no JSON object, as broken clients and connections send
// them.
func badBytes() (all []badRequest) {
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/conversations"} {
		for at := 1; at < len(hello); at += len(hello) / 9 {
			all = append(all, badRequest{what: "cut off", path: path, body: hello[:at], want: 400})
		}
		for what, body := range map[string]string{
			"single quotes": `{'model':'dragoman'}`, "a comma at the end": `{"model":"dragoman",}`, "a comment": `{"model":"dragoman"/* ours */}`,
			"no quotes": `{model:"dragoman"}`, "NaN": `{"temperature":NaN}`, "infinity": `{"temperature":Infinity}`,
			"a byte order mark": "\xef\xbb\xbf" + hello, "UTF-16": strings.Join(strings.Split(hello, ""), "\x00"), "a form": "model=dragoman&messages=hi",
			"XML": "<model>dragoman</model>", "lines of JSON": hello + "\n" + hello, "a control character": "{\"model\":\"dra\x01goman\"}",
		} {
			all = append(all, badRequest{what: what, path: path, body: body, want: 400})
		}
		for _, kind := range []string{"text/html", "application/xml", "image/png", "multipart/form-data; boundary=x", "application/octet-stream"} {
			all = append(all, badRequest{what: kind, path: path, kind: kind, body: hello, want: 415})
		}
	}
	return all
}

// badPlaces are methods and paths that are not there.
func badPlaces() (all []badRequest) {
	for path, methods := range map[string]string{
		"/v1/chat/completions": "GET PUT PATCH DELETE", "/v1/responses": "GET PUT PATCH DELETE", "/v1/models": "POST PUT PATCH DELETE",
		"/v1/models/fake": "POST PUT PATCH DELETE", "/v1/responses/resp_1": "PUT PATCH POST", "/v1/conversations": "GET PUT PATCH DELETE",
	} {
		for method := range strings.FieldsSeq(methods) {
			all = append(all, badRequest{what: "method", method: method, path: path, body: hello, want: 405})
		}
	}
	for path := range strings.FieldsSeq(`completions embeddings moderations edits engines images/generations images/edits audio/speech
		audio/transcriptions audio/translations files files/file_1 uploads batches fine_tuning/jobs assistants threads threads/t/runs
		vector_stores realtime/sessions chat chat/completions/ chat/completion responses/resp_1/input_items evals containers videos`) {
		all = append(all, badRequest{what: "path", path: "/v1/" + path, body: hello, want: 404})
	}
	return all
}

// Together with those of TestBadChats and TestBadResponses, more than 300 bad requests are
// refused in OpenAI's form and change nothing.
func TestBadKinds(t *testing.T) {
	h := newChatHouse(t)
	all := slices.Concat(badFields(), badBytes(), badPlaces())
	for _, b := range all {
		if b.method == "" {
			b.method = "POST"
		}
		if b.kind == "" {
			b.kind = "application/json"
		}
		resp := h.send(b.method, b.path, b.body, "Content-Type", b.kind)
		no := refused(t, resp)
		param, _ := no["param"].(string)
		if resp.StatusCode != b.want || no["type"] != "invalid_request_error" || no["message"] == "" || !strings.HasPrefix(param, b.param) {
			t.Errorf("%s: %s %s %.200q\n= %s %v, want %d with the param %q", b.what, b.method, b.path, b.body, resp.Status, no, b.want, b.param)
		}
	}
	if n := len(all) + len(badChats); n < 300 {
		t.Errorf("%d bad requests, want 300", n)
	}
	if n := len(h.model.Requests()); n != 0 {
		t.Errorf("%d model calls, want none", n)
	}
	h.nothingKept()
}

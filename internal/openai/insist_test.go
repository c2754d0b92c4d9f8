package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/sessions"
)

// frame is one event of a stream, as a client reads it. raw is its data.
type frame struct {
	name, raw string
	data      map[string]any
}

// rawFrames reads a stream to its end. Comments are left out.
func rawFrames(t *testing.T, resp *http.Response) (list []frame) {
	t.Helper()
	text := body(t, resp)
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || !strings.HasPrefix(kind, "text/event-stream") || !strings.HasSuffix(text, "\n\n") {
		t.Fatalf("%s, %s:\n%s", resp.Status, kind, text)
	}
	for block := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		var f frame
		for line := range strings.Lines(block) {
			field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch field {
			case "event":
				f.name = value
			case "data":
				f.raw = value
			case "":
			default:
				t.Errorf("a line that is no field of an event: %q", line)
			}
		}
		if f.raw == "" {
			continue
		}
		if f.raw != "[DONE]" {
			if err := json.Unmarshal([]byte(f.raw), &f.data); err != nil {
				t.Fatalf("%v in %s", err, f.raw)
			}
		}
		list = append(list, f)
	}
	return list
}

// at follows names and numbers into JSON; nil if there is nothing.
func at(v any, path ...any) any {
	for _, step := range path {
		switch inner := v.(type) {
		case map[string]any:
			name, _ := step.(string)
			v = inner[name]
		case []any:
			i, isNumber := step.(int)
			if !isNumber || i >= len(inner) {
				return nil
			}
			v = inner[i]
		default:
			return nil
		}
	}
	return v
}

// The streams on which the demands of clients are checked: a text, a call of the client's
// beside one of ours, and a failure in the middle.
var streamKinds = map[string][]agenttest.Step{
	"text": {agenttest.Say("first"), agenttest.Say("hello there")},
	"calls": {
		agenttest.Say("first"),
		agenttest.Call(sessions.ToolCall{Name: "deed", Arguments: `{}`}, sessions.ToolCall{Name: "pay", Arguments: `{"n":1}`}, sessions.ToolCall{Name: "pay", Arguments: `{"n":2}`}),
	},
	"failure": {agenttest.Say("first"), func(_ context.Context, _ agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
		onDelta(agent.Delta{Reasoning: "hm", Text: "half"})
		time.Sleep(50 * time.Millisecond) // until it is written
		return agent.Response{}, &agent.ModelError{Kind: agent.ErrorRefused, Err: errors.New("it broke")}
	}},
}

// What clients of chat completions break on, each with who does, and what must hold of each
// frame of a stream. i counts the frames, and last is the number of the last one, which is
// [DONE].
func TestChatFramesAreAsClientsInsist(t *testing.T) {
	for kind, steps := range streamKinds {
		t.Run(kind, func(t *testing.T) {
			h := newChatHouse(t, steps...)
			h.chat(hello)
			list := rawFrames(t, h.chat(`{"model":"dragoman","stream":true,"stream_options":{"include_usage":true},`+pay+`,"messages":[{"role":"user","content":"hi"}]}`, "X-Dragoman-Progress", "1"))
			last := len(list) - 1
			if list[last].raw != "[DONE]" {
				t.Fatalf("the stream ends with %s", list[last].raw)
			}
			finished := 0
			for i, f := range list[:last] {
				hasChoice := at(f.data, "choices", 0) != nil
				broken := kind == "failure" && i == last-1
				delta, _ := at(f.data, "choices", 0, "delta").(map[string]any)
				choice, _ := at(f.data, "choices", 0).(map[string]any)
				_, hasKey := choice["finish_reason"]
				if choice["finish_reason"] != nil {
					finished = i
				}
				_, isList := f.data["choices"].([]any)
				for _, demand := range []struct {
					what string
					held bool
				}{
					{"no named event: openai's loop, the AI SDK", f.name == ""},
					{"a failure in the middle is an error object: all raise it", !broken || len(f.data) == 1 && at(f.data, "error", "message") != nil},
					{"choices is always there: openai's loop, the AI SDK", broken || isList},
					{"each chunk is of one answer", broken || f.data["object"] == "chat.completion.chunk" && f.data["id"] == list[0].data["id"] && f.data["created"] == list[0].data["created"] && f.data["model"] == "dragoman"},
					{"the key finish_reason: openai's stream(), the AI SDK", !hasChoice || hasKey},
					{"index: openai's stream(), the AI SDK's chat", !hasChoice || choice["index"] == 0.0},
					{"role in the first delta, and there alone: openai's stream()", !hasChoice || (delta["role"] == "assistant") == (i == 0)},
					{"usage in a chunk without choices, which nobody breaks on", f.data["usage"] == nil || !hasChoice},
					{"index, id, type, name and arguments of a call", delta["tool_calls"] == nil || at(delta, "tool_calls", 1, "index") == 1.0 && at(delta, "tool_calls", 0, "type") == "function" &&
						at(delta, "tool_calls", 0, "id") != "" && at(delta, "tool_calls", 0, "function", "name") == "pay" && at(delta, "tool_calls", 1, "function", "arguments") == `{"n":2}`},
				} {
					if !demand.held {
						t.Errorf("frame %d breaks what clients insist on (%s): %s", i, demand.what, f.raw)
					}
				}
			}
			want := map[string]int{"text": last - 2, "calls": last - 2, "failure": 0}[kind] // then the usage, then [DONE]
			if finished != want {
				t.Errorf("finish_reason is in frame %d of %d, want %d", finished, last, want)
			}
			if usage := list[last-1].data["usage"]; (usage != nil) != (kind != "failure") {
				t.Errorf("the last frame before [DONE] is %s", list[last-1].raw)
			}
		})
	}
}

// responseEvents are the types that clients know. openai's stream() throws at any other.
var responseEvents = []string{
	"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta",
	"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.function_call_arguments.delta",
	"response.function_call_arguments.done", "response.completed", "response.incomplete", "response.failed", "error",
}

// The same of responses.
func TestResponseFramesAreAsClientsInsist(t *testing.T) {
	for kind, steps := range streamKinds {
		t.Run(kind, func(t *testing.T) {
			h := newChatHouse(t, steps...)
			h.chat(hello)
			list := rawFrames(t, h.respond(`{"model":"dragoman","stream":true,`+payItem+`,"input":"hi"}`))
			added := map[any]bool{} // items that have begun, by id
			parts := map[any]bool{} // those with a content part
			for i, f := range list {
				whole, _ := f.data["response"].(map[string]any)
				item, _ := f.data["item"].(map[string]any)
				id, _ := item["id"].(string)
				isDelta := strings.HasSuffix(f.name, ".delta")
				switch f.name {
				case "response.output_item.added":
					added[item["id"]] = true
				case "response.content_part.added":
					parts[f.data["item_id"]] = true
				}
				_, output := whole["output"].([]any)
				_, annotated := at(item, "content", 0, "annotations").([]any)
				for _, demand := range []struct {
					what string
					held bool
				}{
					{"no type of our own: openai's stream()", slices.Contains(responseEvents, f.name)},
					{"the event is named by its type", f.name == f.data["type"]},
					{"sequence_number", f.data["sequence_number"] == float64(i)},
					{"object, id, model, output: openai's output_text", whole == nil || whole["object"] == "response" && whole["model"] == "dragoman" && output && strings.HasPrefix(whole["id"].(string), "resp_")},
					{"created_at: the AI SDK of generation 6", whole == nil || whole["created_at"].(float64) > 0},
					{"an item has an id: the AI SDK, openai's stream()", item == nil || strings.HasPrefix(id, "msg_") || strings.HasPrefix(id, "fc_")},
					{"annotations: the AI SDK, langchain", at(item, "content", 0) == nil || annotated},
					{"status of a call that is done: the AI SDK does not run it", f.name != "response.output_item.done" || item["status"] == "completed"},
					{"a call begins without arguments", f.name != "response.output_item.added" || item["type"] != "function_call" || item["arguments"] == "" && item["status"] == "in_progress"},
					{"the item comes before its pieces: openai's stream(), the AI SDK", !isDelta || added[f.data["item_id"]]},
					{"the part comes before its text: the same", f.name != "response.output_text.delta" || parts[f.data["item_id"]]},
				} {
					if !demand.held {
						t.Errorf("frame %d breaks what clients insist on (%s): %s", i, demand.what, f.raw)
					}
				}
			}
			end := list[len(list)-1]
			if kind == "failure" {
				failed := list[len(list)-2]
				if failed.name != "response.failed" || at(failed.data, "response", "error", "message") == nil || end.name != "error" || end.data["message"] == nil {
					t.Errorf("a failure ends with %s and %s, want response.failed for the AI SDK, then error for openai", failed.raw, end.raw)
				}
				return
			}
			if end.name != "response.completed" || at(end.data, "response", "status") != "completed" || at(end.data, "response", "usage", "output_tokens_details", "reasoning_tokens") == nil || len(parts)+len(added) == 0 {
				t.Errorf("the stream ends with %s, want response.completed: the AI SDK runs no tool without it", end.raw)
			}
		})
	}
}

// What clients insist on in answers that are no streams.
func TestWholeAnswersAreAsClientsInsist(t *testing.T) {
	h := newChatHouse(t, agenttest.Say("hello"), agenttest.Call(sessions.ToolCall{Name: "pay", Arguments: ``}), agenttest.Say("hello"))
	chat := decoded(t, h.chat(hello))
	if at(chat, "choices", 0, "message", "content") != "hello" || at(chat, "choices", 0, "index") != 0.0 || at(chat, "choices", 0, "finish_reason") != "stop" || at(chat, "usage", "total_tokens") == nil {
		t.Errorf("a completion is %v", chat)
	}
	calls := decoded(t, h.chat(`{"model":"dragoman",`+pay+`,"messages":[{"role":"user","content":"hi"}]}`))
	if at(calls, "choices", 0, "finish_reason") != "tool_calls" || at(calls, "choices", 0, "message", "tool_calls", 0, "function", "arguments") != "{}" {
		t.Errorf("a completion with a call is %v; clients parse its arguments", calls)
	}
	response := decoded(t, h.respond(`{"model":"dragoman","input":"hi"}`))
	_, annotated := at(response, "output", 0, "content", 0, "annotations").([]any)
	if response["object"] != "response" || response["created_at"] == nil || at(response, "output", 0, "id") == nil || !annotated || response["status"] != "completed" {
		t.Errorf("a response is %v", response)
	}
}

package anthropic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/agent/anthropic"
	"dragoman/agent/window"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// Attached data: a thought with an unknown field, and an opaque block with
// unusual spaces.
const (
	thought  = `{"new":[1e2],"signature":"EqQB+/=","thinking":"a <b> \"é\"\n"}`
	redacted = `{"type": "redacted_thinking","data":"<opaque>\u00e9"}`
)

var turn = []string{
	`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-opus-5-20260801","content":[],"usage":{"input_tokens":5,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":1}}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":"","new":[1e2]}}`,
	`{"type":"ping"}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a <b> "}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\"é\"\n"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB+/="}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":` + redacted + `}`,
	`{"type":"content_block_stop","index":1}`,
	`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Let me "}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"look."}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"brand_new","x":{}}}`,
	`{"type":"content_block_stop","index":2}`,
	`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_a","name":"clock","input":{}}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"zone\":"}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"UTC\"}"}}`,
	`{"type":"content_block_stop","index":3}`,
	`{"type":"brand_new_event","index":"none","delta":7}`,
	`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_b","name":"note","input":{}}}`,
	`{"type":"content_block_stop","index":4}`,
	`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42}}`,
	`{"type":"message_stop"}`,
}

func TestTurn(t *testing.T) {
	resp, text, thoughts := decoded(t, &wire.Input{Request: &agent.Request{}}, turn...)
	want := agent.Response{Model: "claude-opus-5-20260801", Finish: "tool_calls", Thought: true, Usage: &sessions.Usage{Input: 125, Output: 42, Cached: 100}}
	want.Message = sessions.Message{
		Role: sessions.RoleAssistant, Model: "claude-opus-5", Content: "Let me look.", Usage: want.Usage, Attached: resp.Message.Attached,
		ToolCalls: []sessions.ToolCall{{ID: "toolu_a", Name: "clock", Arguments: `{"zone":"UTC"}`}, {ID: "toolu_b", Name: "note", Arguments: "{}"}},
	}
	if diff := cmp.Diff(want, resp); diff != "" {
		t.Errorf("the response (-want +got):\n%s", diff)
	}
	if text != "Let me look." || thoughts != "a <b> \"é\"\n" {
		t.Errorf("streamed %q and the thoughts %q", text, thoughts)
	}
}

// stored returns m as read back from a store that indents JSON.
func stored(t *testing.T, m sessions.Message) (out sessions.Message) {
	t.Helper()
	data, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Thoughts go back first and byte for byte, even from a store that writes JSON
// anew, if the server would accept them.
func TestRoundTrip(t *testing.T) {
	typed := strings.Replace(thought, `}`, `,"type":"thinking"}`, 1)
	attached := typed + "," + redacted + ","
	const said = `{"type":"text","text":"Let me look."},{"type":"tool_use","id":"toolu_a","name":"clock","input":{"zone":"UTC"}},{"type":"tool_use","id":"toolu_b","name":"note","input":{}}`

	for name, test := range map[string]struct {
		model  string
		change func(in *wire.Input)
		want   bool // whether the thoughts are sent
	}{
		"in the turn":               {"claude-opus-5", nil, true},
		"in the turn, bound":        {"claude-opus-5-5", nil, true},
		"OmitAttached":              {"claude-opus-5", func(in *wire.Input) { in.OmitAttached = true }, false},
		"another model":             {"claude-opus-5", func(in *wire.Input) { in.To.Model = "claude-opus-4-8" }, false},
		"new system prompt":         {"claude-opus-5", func(in *wire.Input) { in.Request.System = "new" }, true},
		"new system prompt, bound":  {"claude-opus-5-5", func(in *wire.Input) { in.Request.System = "new" }, false},
		"the next turn":             {"claude-opus-5-5", next, true},
		"the next turn, summarised": {"claude-opus-5", func(in *wire.Input) { next(in); in.Request.Messages = in.Request.Messages[2:] }, false},
		"the next turn, other tools": {"claude-opus-5", func(in *wire.Input) {
			next(in)
			in.Request.Tools = []agent.Spec{{Name: "t"}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := &wire.Input{Request: &agent.Request{System: "s", Tools: []agent.Spec{{Name: "clock"}, {Name: "note"}}, Messages: []sessions.Message{user("0"), {Role: sessions.RoleAssistant, Content: "1"}, user("2")}}, To: here}
			in.To.Model = test.model
			resp, _, _ := decoded(t, in, turn...)
			in.Request.Messages = append(in.Request.Messages, stored(t, resp.Message), result("toolu_a", "noon"), result("toolu_b", "ok"))
			if test.change != nil {
				test.change(in)
			}
			got := body(t, in)
			if strings.Contains(got, `"content":[`+attached+said+`]`) != test.want {
				t.Errorf("thoughts sent, want %v:\n%s", test.want, got)
			}
			if !test.want && (strings.Contains(got, "thinking") || !strings.Contains(got, `"content":[`+said+`]`)) {
				t.Errorf("without the thoughts: %s", got)
			}
		})
	}
}

func next(in *wire.Input) {
	in.Request.Messages = append(in.Request.Messages, sessions.Message{Role: sessions.RoleAssistant, Content: "Noon."}, user("And now?"))
}

// The API refuses a thinking budget after calls that came without thoughts.
func TestBudgetWithoutThoughts(t *testing.T) {
	in := &wire.Input{Request: &agent.Request{Effort: "low", Messages: []sessions.Message{user("2")}}, To: sessions.Provenance{Model: "claude-sonnet-4-5"}}
	resp, _, _ := decoded(t, in, turn...)
	in.Request.Messages = append(in.Request.Messages, resp.Message, result("toolu_a", "noon"), result("toolu_b", "ok"))
	if got := fields(t, in); got["thinking"] == nil {
		t.Error("no budget with thoughts")
	}
	in.OmitAttached = true
	if got := fields(t, in); got["thinking"] != nil {
		t.Error("a budget without thoughts")
	}
	next(in)
	if got := fields(t, in); got["thinking"] == nil {
		t.Error("no budget in the next turn")
	}
}

// Texts before and after a thought keep their places.
func TestTextAroundThoughts(t *testing.T) {
	in := &wire.Input{Request: &agent.Request{Messages: []sessions.Message{user("1")}}}
	resp, text, _ := decoded(t, in,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"One"}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":" two."}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"","signature":"s"}}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"Three."}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
	)
	if want := "One two.\n\nThree."; text != want || resp.Message.Content != want {
		t.Errorf("streamed %q, kept %q, want %q", text, resp.Message.Content, want)
	}
	in.Request.Messages = append(in.Request.Messages, resp.Message)
	want := `{"type":"text","text":"One"},{"type":"text","text":" two."},{"signature":"s","thinking":"","type":"thinking"},{"type":"text","text":"\n\nThree."}`
	if got := body(t, in); !strings.Contains(got, want) {
		t.Errorf("sent back is %s", got)
	}
}

func TestEnds(t *testing.T) {
	const said = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"So"}}`
	end := func(reason string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":-1}}`
	}
	for reason, want := range map[string]string{
		"end_turn": "stop", "stop_sequence": "stop", "pause_turn": "stop", "max_tokens": "length",
		"model_context_window_exceeded": "length", "refusal": "content_filter", "new_reason": "new_reason",
	} {
		resp, text, _ := decoded(t, &wire.Input{Request: &agent.Request{}}, said, end(reason), `{"type":"message_stop"}`)
		if resp.Finish != want || resp.Refused != (reason == "refusal") || text != "So" || resp.Message.Content != "So" || resp.Usage != nil || resp.Message.Attached != nil {
			t.Errorf("%s: %+v, streamed %q, want %s", reason, resp, text, want)
		}
	}
	for _, second := range []string{"end_turn", "stop_sequence", "tool_use", ""} { // a proxy adds an end of its own
		resp, _, _ := decoded(t, &wire.Input{Request: &agent.Request{}}, said, end("max_tokens"), end(second), `{"type":"message_stop"}`)
		if resp.Finish != "length" {
			t.Errorf("max_tokens and then %q: Finish = %q, want length", second, resp.Finish)
		}
	}
	call := `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"t"}}`
	if resp, _, _ := decoded(t, &wire.Input{Request: &agent.Request{}}, call, end("max_tokens")); resp.Finish != "length" {
		t.Errorf("a cut call: Finish = %q, want length", resp.Finish)
	}
	thoughts := `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}`
	if resp, _, _ := decoded(t, &wire.Input{Request: &agent.Request{}}, thoughts, end("max_tokens")); !resp.Thought || resp.Message.Attached != nil {
		t.Errorf("cut thoughts without a signature: %+v", resp)
	}
}

// Some servers do not stream, or send a call in one piece.
func TestWhole(t *testing.T) {
	whole := `{"type":"message","role":"assistant","stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":2},"content":[
		{"type":"text","text":"Hello!"},{"type":"tool_use","id":"a","name":"clock","input":{"zone":"UTC"}},{"type":"tool_use","id":"a","input":{ }}]}`
	resp, text, _ := decoded(t, &wire.Input{Request: &agent.Request{}}, whole)
	calls := resp.Message.ToolCalls
	if text != "Hello!" || resp.Finish != "tool_calls" || resp.Usage.Input != 3 || len(calls) != 2 {
		t.Fatalf("response = %+v", resp)
	}
	if calls[0].Arguments != `{"zone":"UTC"}` || calls[1].Arguments != "{}" || calls[1].ID == "a" || calls[1].Name != "unknown_tool" {
		t.Errorf("calls = %v", calls)
	}
}

// Proxies send pieces again, at other indexes, or the whole message after them. The
// answer is the same.
func TestRepeatedPieces(t *testing.T) {
	start := func(index int, block string) string {
		return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block)
	}
	input := func(index int, json string) string {
		return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, index, json)
	}
	said := func(text string) string {
		return fmt.Sprintf(`{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":%q}}`, text)
	}
	stop := func(reason string) string {
		return `{"type":"message_delta","delta":{"stop_reason":` + reason + `}}`
	}
	const clock = `{"type":"tool_use","id":"a","name":"clock","input":{}}`
	const whole = `{"type":"message","stop_reason":"tool_use","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"a","name":"clock","input":{"zone":"UTC"}}]}`
	for name, events := range map[string][]string{
		"once":                    {said("Let me look."), start(1, clock), input(1, `{"zone":`), input(1, `"UTC"}`), stop(`"tool_use"`)},
		"at two indexes":          {said("Let me look."), start(1, clock), input(1, `{"zone":"UTC"}`), start(2, clock), input(2, `{"zone":"UTC"}`), stop(`"tool_use"`)},
		"announced twice":         {said("Let me look."), start(1, clock), start(1, clock), input(1, `{"zone":"UTC"}`), stop(`"tool_use"`)},
		"an empty object first":   {said("Let me look."), start(1, clock), input(1, `{}`), input(1, `{"zone":"UTC"}`), stop(`"tool_use"`)},
		"with its input at start": {said("Let me look."), start(1, strings.Replace(clock, "{}", `{"zone":"UTC"}`, 1)), input(1, `{"zone":"UTC"}`), stop(`"tool_use"`)},
		"growing":                 {said("Let"), said("Let me"), said("Let me look."), start(1, clock), input(1, `{"zone"`), input(1, `{"zone":"UTC"}`), stop(`"tool_use"`)},
		"and the whole message":   {said("Let me look."), start(1, clock), input(1, `{"zone":"UTC"}`), stop(`"tool_use"`), whole},
		"two ends":                {said("Let me look."), start(1, clock), input(1, `{"zone":"UTC"}`), stop(`"tool_use"`), stop(`null`)},
	} {
		resp, text, _ := decoded(t, &wire.Input{Request: &agent.Request{}}, events...)
		want := []sessions.ToolCall{{ID: "a", Name: "clock", Arguments: `{"zone":"UTC"}`}}
		if diff := cmp.Diff(want, resp.Message.ToolCalls); diff != "" || text != "Let me look." || resp.Message.Content != text {
			t.Errorf("%s: streamed %q, kept %q, calls (-want +got):\n%s", name, text, resp.Message.Content, diff)
		}
	}
	// A second end does not make a cut answer whole.
	if resp, _, _ := decoded(t, &wire.Input{Request: &agent.Request{}}, said("So"), stop(`"max_tokens"`), stop(`null`)); resp.Finish != "length" {
		t.Errorf("after a second end Finish = %q, want length", resp.Finish)
	}
}

// A stream that is cut before its stop reason is an error. Only events with a
// piece of the answer are progress.
func TestCut(t *testing.T) {
	a := anthropic.Messages{}.Decode(&wire.Input{Request: &agent.Request{}}, nil)
	for i, e := range turn[:len(turn)-2] {
		progress, err := a.Add("", []byte(e))
		if err != nil || a.Finished() || a.Check() == nil {
			t.Fatalf("after event %d: %v, Finished() = %v, Check() = %v", i, err, a.Finished(), a.Check())
		}
		want := strings.Contains(e, `"name":"`) || strings.Contains(e, "_delta\"") && !strings.Contains(e, `:""}`) && !strings.Contains(e, "signature") && !strings.Contains(e, "new")
		if progress != want {
			t.Errorf("event %s: progress = %v, want %v", e, progress, want)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte(strings.Join(turn, "\n")))
	f.Add([]byte(`{"type":"message","content":[{"type":"tool_use","input":7},{"type":"thinking","signature":7}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var shown strings.Builder
		in := &wire.Input{Request: &agent.Request{Messages: []sessions.Message{user("1")}}, To: here}
		a := anthropic.Messages{}.Decode(in, func(d agent.Delta) { shown.WriteString(d.Text) })
		for line := range bytes.Lines(data) {
			if _, err := a.Add("", line); err != nil {
				return
			}
		}
		var resp agent.Response
		a.Fill(&resp)
		m := resp.Message
		if m.Content != shown.String() {
			t.Errorf("streamed %q, kept %q", shown.String(), m.Content)
		}
		for _, call := range m.ToolCalls {
			if call.ID == "" || call.Name == "" || call.Arguments == "" {
				t.Errorf("a tool call has an empty field: %+v", call)
			}
		}
		in.Request.Messages = window.Repair(append(in.Request.Messages, m))
		parts, err := anthropic.Messages{}.Encode(in)
		if body := bytes.Join(parts, nil); err != nil || !json.Valid(body) {
			t.Errorf("sent back: %s, %v", body, err)
		}
	})
}

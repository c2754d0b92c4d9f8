package openai_test

import (
	"testing"

	"dragoman/agent/openai"

	"github.com/google/go-cmp/cmp"
)

const usualFrame = `{"id":"c","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}`

// frames are pairs of frames. usual says whether the fast path reads the second
// after the first.
var frames = []struct {
	first, second string
	usual         bool
}{
	{usualFrame, usualFrame, true},
	{usualFrame, `{"id":"c","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":"hä, 你"},"finish_reason":null}]}`, true},
	{`{"choices":[{"delta":{"role":"assistant","content":"a"},"logprobs":null,"finish_reason":null}],"usage":null}`, `{"choices":[{"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}`, true},
	{`{"id": "c", "choices": [{"index": 0, "delta": {"content":  "a", "refusal": null}}]}`, `{"id": "c", "choices": [{"index": 0, "delta": {"content":  "b", "refusal": null}}]}`, true},
	{`{"choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":null}}]}`, false},
	{`{"choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"a\n"}}]}`, false},
	{`{"choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"a` + "\xff" + `"}}]}`, false},
	{`{"choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"a` + "\x00" + `"}}]}`, false},
	{`{"choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"a"},"finish_reason":"","delta":{"content":"b"}}]}`, false},
	{`{"choices":[{"delta":{"content":"aa"}}]}`, `{"choices":[{"delta":{"content":"}]}`, false},
	{`{"choices":[{"delta":{"content":""}}]}`, `{"choices":[{"delta":{"content":"a"}}]}`, false},
	{`{"choices":[{"delta":{"content":"\\"}}]}`, `{"choices":[{"delta":{"content":"a"}}]}`, false},
	{`{"choices":[{"delta":{"content":["a"]}}]}`, `{"choices":[{"delta":{"content":["b"]}}]}`, false},
	{`{"choices":[{"delta":{"content":"a"},"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"b"},"delta":{"content":"a"}}]}`, false},
	{`{"choices":[{"delta":{"content":"a","Content":"a"}}]}`, `{"choices":[{"delta":{"content":"b","Content":"a"}}]}`, false},
	{`{"choices":[{"delta":{"content":"a","\u0063ontent":"a"}}]}`, `{"choices":[{"delta":{"content":"b","\u0063ontent":"a"}}]}`, false},
	{`{"choices":[{"delta":{"content":"a"}},{"index":1,"delta":{}}]}`, `{"choices":[{"delta":{"content":"b"}},{"index":1,"delta":{}}]}`, false},
	{`{"choices":[{"index":1,"delta":{"content":"a"}}]}`, `{"choices":[{"index":1,"delta":{"content":"b"}}]}`, false},
	{`{"choices":[{"message":{"content":"a"}}]}`, `{"choices":[{"message":{"content":"b"}}]}`, false},
	{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, `{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}`, false},
	{`{"choices":[{"delta":{"content":"a"}}],"usage":{"total_tokens":7,"prompt_tokens":5}}`, `{"choices":[{"delta":{"content":"b"}}],"usage":{"total_tokens":7,"prompt_tokens":5}}`, false},
	{`{"choices":[{"delta":{"reasoning":"hm","content":"a"}}]}`, `{"choices":[{"delta":{"reasoning":"hm","content":"b"}}]}`, false},
	{`{"choices":[{"delta":{"refusal":"no","content":"a"}}]}`, `{"choices":[{"delta":{"refusal":"no","content":"b"}}]}`, false},
	{`{"choices":[{"delta":{"content":"a","tool_calls":[{"function":{"name":"x"}}]}}]}`, `{"choices":[{"delta":{"content":"b","tool_calls":[{"function":{"name":"x"}}]}}]}`, false},
	{`{"choices":[{"delta":{"content":"a","extra_content":{}}}]}`, `{"choices":[{"delta":{"content":"b","extra_content":{}}}]}`, false},
	{`{"choices":[{"delta":{"content":"a","reasoning_details":[{}]}}]}`, `{"choices":[{"delta":{"content":"b","reasoning_details":[{}]}}]}`, false},
	{`{"model":"x","choices":[{"delta":{"content" :"x"}}]}`, `{"model":"y","choices":[{"delta":{"content" :"x"}}]}`, false},
	{usualFrame[:len(usualFrame)-1], usualFrame, false},
	{usualFrame, usualFrame + "}", false},
	{usualFrame, usualFrame[:60], false},
	{usualFrame, ``, false},
	{`null`, `null`, false},
}

func checkFrames(t *testing.T, frames ...string) (usual bool) {
	t.Helper()
	var list [][]byte
	for _, f := range frames {
		list = append(list, []byte(f))
	}
	fast, slow, shown, errs, usual := openai.Frames(list...)
	if diff := cmp.Diff(slow, fast); diff != "" || shown[0] != shown[1] {
		t.Errorf("%q are read as (-encoding/json +fast path):\n%s\nshown as %q and %q", frames, diff, shown[1], shown[0])
	}
	if (errs[0] == nil) != (errs[1] == nil) {
		t.Errorf("%q: %v, and with encoding/json %v", frames, errs[0], errs[1])
	}
	return usual
}

func TestFastPath(t *testing.T) {
	for _, f := range frames {
		if got := checkFrames(t, f.first, f.second); got != f.usual {
			t.Errorf("after %q, the fast path reads %q: %t, want %t", f.first, f.second, got, f.usual)
		}
	}
}

// The fast path reads a frame as encoding/json does.
func FuzzFrame(f *testing.F) {
	for _, frame := range frames {
		f.Add(frame.first, frame.second, "text")
	}
	f.Fuzz(func(t *testing.T, first, second, text string) {
		checkFrames(t, first, second, first)
		checkFrames(t, first, openai.With(first, text))
	})
}

// The model that answered is the one that the server names, whatever was asked for. A name
// that is none does not break the answer.
func TestModelThatAnswered(t *testing.T) {
	for model, want := range map[string]string{`"large-2026-08"`: "large-2026-08", `null`: "", `{}`: "", `7`: "7"} {
		frames := [][]byte{
			[]byte(`{"model":` + model + `,"choices":[{"index":0,"delta":{"content":"a"}}]}`),
			[]byte(`{"model":"other","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
		}
		got, _, err := openai.Read(frames...)
		if want == "" {
			want = "other"
		}
		if err != nil || got.Model != want || got.Message.Content != "a" {
			t.Errorf("with %s the answer is %+v, %v; want the model %s", model, got, err, want)
		}
	}
}

package openai_test

import (
	"testing"

	"dragoman/agent/openai"

	"github.com/google/go-cmp/cmp"
)

const usualFrame = `{"id":"c","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}`

// frames are some, and whether they are plain.
var frames = map[string]bool{
	usualFrame: true,
	`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}`:  true,
	`{"id": "c", "created": 0, "choices": [{"index": 0, "delta": {"content": "hä, 你"}, "finish_reason": "stop"}]}`:           true,
	`{"id": "c", "service_tier": null, "choices": [{"delta": {"content": "hä", "refusal": null}, "finish_reason": "stop"}]}`: true,
	`{"choices":[{"delta":{},"finish_reason":"stop"}]}`:                                                                      true,
	`{"choices":[{"delta":{"content":"a"},"delta":{"content":"b"},"finish_reason":"x","finish_reason":null}]}`:               true,
	`{"choices":[{"delta":{"content":null}}]}`:                                                                               false,
	`{"choices":[{"delta":{"content":"a","Content":"b"}}]}`:                                                                  false,
	`{"choices":[{"delta":{"content":"a"}}],"CHOICES":null}`:                                                                 false,
	`{"choices":[{"delta":{"content":"a"}}],"choices":[{}]}`:                                                                 false,
	`{"choices":[{"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}`:                                            false,
	`{"choices":[{"index":1,"delta":{"content":"a"}}]}`:                                                                      false,
	`{"choices":[]}`: false,
	`{"choices":[{"delta":{"content":"a"}}],"usage":{"total_tokens":7,"prompt_tokens":5}}`: false,
	`{"choices":[{"delta":{"reasoning":"hm","content":"a"}}]}`:                             false,
	`{"choices":[{"delta":{"content":["a"]}}]}`:                                            false,
	`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"x"}}]}}]}`:                   false,
	`{"choices":[{"delta":{"content":"a\n"}}]}`:                                            false,
	`{"choices":[{"delta":{"content":"a` + "\xff" + `"}}]}`:                                false,
	`{"choices":[{"delta":{"content":"a` + "\x00" + `"}}]}`:                                false,
	usualFrame[:len(usualFrame)-1]:                                                         false,
	usualFrame + "}":                                                                       false,
	usualFrame[:60]:                                                                        false,
	`null`:                                                                                 false,
	``:                                                                                     false,
}

func checkFrame(t *testing.T, frame string) (plain bool) {
	t.Helper()
	fast, slow, shown, errs, plain := openai.Frames([]byte(frame))
	if !plain {
		return false // there is only one way
	}
	if diff := cmp.Diff(slow, fast); diff != "" || shown[0] != shown[1] {
		t.Errorf("%q is read as (-by encoding/json +plain):\n%s\nshown as %q and %q", frame, diff, shown[1], shown[0])
	}
	if (errs[0] == nil) != (errs[1] == nil) {
		t.Errorf("%q: %v, and by encoding/json %v", frame, errs[0], errs[1])
	}
	return true
}

func TestPlainFrames(t *testing.T) {
	for frame, plain := range frames {
		if got := checkFrame(t, frame); got != plain {
			t.Errorf("%q is plain: %t, want %t", frame, got, plain)
		}
	}
}

// FuzzFrame: what is read fast is read as encoding/json reads it.
func FuzzFrame(f *testing.F) {
	for frame := range frames {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame string) { checkFrame(t, frame) })
}

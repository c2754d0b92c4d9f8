package window_test

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/agent/window"
	"dragoman/sessions"
)

func TestWholeCharacters(t *testing.T) {
	for text, want := range map[string]string{
		`{"text":"tea"}`:                    `{"text":"tea"}`,
		`{"text":"Anna likes \ud99c tea"}`:  `{"text":"Anna likes \ufffd tea"}`,
		`{"text":"\uDC00"}`:                 `{"text":"\ufffd"}`,
		`{"text":"\ud83d\ude42"}`:           `{"text":"\ud83d\ude42"}`,
		`{"text":"\ud83d\ud83d\ude42\ud8"}`: `{"text":"\ufffd\ud83d\ude42\ud8"}`,
		`{"\ud800":"\u00e9"}`:               `{"\ufffd":"\u00e9"}`,
		`{"path":"C:\\ud800"}`:              `{"path":"C:\\ud800"}`,
		`{"path":"\\\ud800"}`:               `{"path":"\\\ufffd"}`,
		`{"text":"` + "\xff" + `"}`:         `{"text":"` + "\uFFFD" + `"}`,
		`\`:                                 `\`,
		`\ud800`:                            `\ufffd`,
		"":                                  "",
	} {
		if got := window.WholeCharacters(text); got != want {
			t.Errorf("WholeCharacters(%s) = %s, want %s", text, got, want)
		}
	}
}

// Halves of characters in the calls of an old transcript are not sent either.
func TestRepairMendsHalves(t *testing.T) {
	msgs := []sessions.Message{
		{Role: sessions.RoleUser, Content: "hi"},
		{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "a", Name: "remember", Arguments: `{"text":"\ud99c"}`}}},
	}
	if got := window.Repair(msgs)[1].ToolCalls[0].Arguments; got != `{"text":"\ufffd"}` {
		t.Errorf("Repair leaves %s", got)
	}
}

// What is valid stays valid and means the same, but for halves.
func FuzzWholeCharacters(f *testing.F) {
	f.Add(`{"a":"\ud83d\ude42\\u","b":["\ud800"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		got := window.WholeCharacters(text)
		if window.WholeCharacters(got) != got {
			t.Errorf("WholeCharacters(%q) = %q changes once more", text, got)
		}
		if !json.Valid([]byte(text)) {
			return
		}
		var before, after any
		err := json.Unmarshal([]byte(got), &after)
		if err != nil {
			t.Fatalf("WholeCharacters(%s) = %s: %v", text, got, err)
		}
		_ = json.Unmarshal([]byte(text), &before) // it is valid
		if b, a := canonical(t, before), canonical(t, after); b != a && !strings.Contains(b, "\uFFFD") {
			t.Errorf("%s became %s", b, a)
		}
	})
}

func canonical(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

package window_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// shape abbreviates messages: u and w are texts of people and the model, + and ~ the
// ones that Alternate adds, (n) a message with n calls, and t a result.
func shape(msgs []sessions.Message) string {
	var out []string
	for _, m := range msgs {
		s := ""
		switch {
		case m.Role == sessions.RoleUser && m.Content == "[The conversation goes on here.]":
			s = "+"
		case m.Role == sessions.RoleAssistant && m.Content == "(I have the results.)":
			s = "~"
		case m.Role == sessions.RoleUser:
			s = "u" + strings.ReplaceAll(m.Content, "\n\n", "u")
		case m.Role == sessions.RoleAssistant:
			if m.Content != "" {
				s = "w" + strings.ReplaceAll(m.Content, "\n\n", "w")
			}
			if n := len(m.ToolCalls); n > 0 {
				s += fmt.Sprintf("(%d)", n)
			}
		case m.Role == sessions.RoleTool:
			s = "t"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestAlternate(t *testing.T) {
	const model = "answering"
	calls := func(n int, text, model string) (group []sessions.Message) {
		head := sessions.Message{Role: sessions.RoleAssistant, Content: text, Model: model}
		for i := range n {
			id := fmt.Sprintf("call%05d", i)
			head.ToolCalls = append(head.ToolCalls, sessions.ToolCall{ID: id, Name: "look", Arguments: "{}"})
			group = append(group, sessions.Message{Role: sessions.RoleTool, ToolCallID: id, Name: "look", Content: "x"})
		}
		return append([]sessions.Message{head}, group...)
	}
	attached := &sessions.Attached{Data: json.RawMessage(`{}`)}
	signed := calls(2, "", "other")
	signed[0].Attached = attached
	words := map[string][]sessions.Message{
		"u": {{Role: sessions.RoleUser, Content: "1"}}, "v": {{Role: sessions.RoleUser, Content: "2"}},
		"w": {{Role: sessions.RoleAssistant, Content: "1"}}, "x": {{Role: sessions.RoleAssistant, Content: "2"}},
		"s": {{Role: sessions.RoleAssistant, Content: "sum", Summary: true}},
		"a": {{Role: sessions.RoleAssistant, Content: "att", Attached: attached}},
		"g": calls(1, "", model), "h": calls(1, "hm", model), "own": calls(2, "", model), "other": calls(2, "hm", "other"), "signed": signed,
	}
	for _, test := range []struct{ name, in, want string }{
		{"a turn", "u g w v x", "u1 (1) t w1 u2 w2"},
		{"begins with words", "w u w", "+ w1 u1 w1"},
		{"begins with a call", "g g w", "+ (1) t (1) t w1"},
		{"people in a row", "u v w", "u1u2 w1"},
		{"three people in a row", "u v u", "u1u2u1"},
		{"words in a row", "u w x u", "u1 w1w2 u1"},
		{"a call after words", "u w g x", "u1 w1(1) t w2"},
		{"a call with words after words", "u w h x", "u1 w1whm(1) t w2"},
		{"a person after results", "u g v x", "u1 (1) t ~ u2 w2"},
		{"words after a summary", "u s w", "u1 wsum + w1"},
		{"words after what a provider attached to", "u a w", "u1 watt + w1"},
		{"side by side by the same model", "u own w", "u1 (2) t t w1"},
		{"side by side by another model", "u other w", "u1 whm(1) t (1) t w1"},
		{"side by side, attached to", "u signed w", "u1 (2) t t w1"},
		{"nothing", "", ""},
	} {
		var in []sessions.Message
		for word := range strings.FieldsSeq(test.in) {
			in = append(in, words[word]...)
		}
		before := fmt.Sprint(in)
		out := window.Alternate(in, model)
		if got := shape(out); got != test.want {
			t.Errorf("%s: Alternate(%s) = %s, want %s", test.name, test.in, got, test.want)
		}
		if fmt.Sprint(in) != before {
			t.Errorf("%s: Alternate changed its argument", test.name)
		}
	}
}

// alternating says what a template that requires alternating roles would refuse in
// msgs.
func alternating(msgs []sessions.Message) string {
	for i, m := range msgs {
		switch {
		case i == 0 && m.Role != sessions.RoleUser:
			return "it begins with a message of " + string(m.Role)
		case i > 0 && m.Role == msgs[i-1].Role && m.Role != sessions.RoleTool:
			return fmt.Sprintf("messages %d and %d are both of %s", i-1, i, m.Role)
		case i > 0 && m.Role == sessions.RoleUser && msgs[i-1].Role == sessions.RoleTool:
			return fmt.Sprintf("message %d is a person's, after a result", i)
		}
	}
	return ""
}

// TestAlternateProperties: the view of any transcript alternates, contains every
// text, and keeps its prefix as the transcript grows.
func TestAlternateProperties(t *testing.T) {
	draw := histories()
	rapid.Check(t, func(t *rapid.T) {
		in := window.Repair(draw.Draw(t, "history"))
		out := window.Alternate(in, "m")
		if why := alternating(out); why != "" {
			t.Fatalf("%s:\n%s", why, show(out))
		}
		if len(out) > 0 {
			if err := window.Validate(out); err != nil {
				t.Fatalf("Validate = %v\n%s", err, show(out))
			}
		}
		if twice := window.Alternate(out, "m"); !reflect.DeepEqual(out, twice) {
			t.Fatalf("twice differs from once:\n%s\n%s", show(out), show(twice))
		}
		said := func(msgs []sessions.Message) (all string) {
			for _, m := range msgs {
				all += "\n" + m.Content
			}
			return all
		}
		for _, m := range in {
			if text := strings.TrimSpace(m.Content); !strings.Contains(said(out), text) {
				t.Fatalf("%q is lost:\n%s", text, show(out))
			}
		}
		// All messages of the shorter view stay, except the last, which may grow.
		cut := window.Cut(in, rapid.IntRange(0, len(in)).Draw(t, "keep"))
		head := window.Alternate(in[:cut], "m")
		for i := range max(len(head)-1, 0) {
			if !reflect.DeepEqual(head[i], out[i]) {
				t.Fatalf("message %d changes when the history grows:\n%s\n%s", i, show(head), show(out))
			}
		}
	})
}

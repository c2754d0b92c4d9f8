package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent/wire"
	"dragoman/sessions"
)

var here = sessions.Provenance{API: wire.APIMessages, Host: "h", Model: "m"}

func TestVisit(t *testing.T) {
	parts := []wire.Part{{Raw: "1"}, {Text: 2, Phase: "first"}, {Raw: "2"}, {Text: 3}, {Call: "a"}, {Raw: "3"}, {Call: "b"}}
	calls := []sessions.ToolCall{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	for name, test := range map[string]struct {
		content string
		parts   []wire.Part
		want    string
	}{
		"unchanged":          {"ab cd", parts, "1 'ab'first 2 ' cd' (a) 3 (b) (c)"},
		"other text":         {"other", append([]wire.Part{{Raw: "0"}, {Text: 9}}, parts[4:]...), "0 'other' (a) 3 (b) (c)"},
		"longer text":        {"abcdef", parts, "1 2 'abcdef' (a) 3 (b) (c)"},
		"no text":            {"", parts, "1 2 (a) 3 (b) (c)"},
		"text without place": {"x", parts[4:], "'x' (a) 3 (b) (c)"},
		"new ids":            {"ab cd", []wire.Part{{Raw: "1"}, {Call: "x"}, {Raw: "2"}, {Call: "y"}, {Text: 5}}, "1 (a) 2 (b) 'ab cd' (c)"},
		"no layout":          {"x", nil, "'x' (a) (b) (c)"},
		"a call twice":       {"", []wire.Part{{Call: "b"}, {Call: "b"}}, "(a) (b) (c)"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			m := &sessions.Message{Content: test.content, ToolCalls: calls}
			(&wire.Layout{Parts: test.parts}).Visit(m, &wire.Visitor{
				Raw:  func(data string) { got = append(got, data) },
				Text: func(text, phase string) { got = append(got, "'"+text+"'"+phase) },
				Call: func(c *sessions.ToolCall) { got = append(got, "("+c.ID+")") },
			})
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("Visit = %s, want %s", got, test.want)
			}
		})
	}
}

func TestAttach(t *testing.T) {
	if a := (&wire.Layout{Parts: []wire.Part{{Text: 3}, {Call: "a"}}}).Attach(here); a != nil {
		t.Errorf("Attach without attached data = %s, want nil", a.Data)
	}
	want := &wire.Layout{After: "x", Parts: []wire.Part{{Raw: `{ "a": "<\u00e9>" }`}}}
	m := &sessions.Message{Attached: want.Attach(here)}
	if got := wire.ReadLayout(m, here); !cmp.Equal(got, want) {
		t.Errorf("ReadLayout = %+v, want %+v", got, want)
	}
	if got := wire.ReadLayout(m, sessions.Provenance{API: wire.APIMessages, Host: "h", Model: "another"}); got != nil {
		t.Errorf("ReadLayout for another model = %+v, want nil", got)
	}
	for _, bad := range []string{`{"parts":[{"raw":"{"}]}`, `{"parts":7}`, `x`} {
		m.Attached.Data = json.RawMessage(bad)
		if got := wire.ReadLayout(m, here); got != nil {
			t.Errorf("ReadLayout of %s = %+v, want nil", bad, got)
		}
	}
}

func TestEffort(t *testing.T) {
	for _, test := range []struct{ known, asked, want string }{
		{"unknown", "max", "max"},
		{"", "max", ""},
		{"none low high", "", ""},
		{"none low high", "low", "low"},
		{"none low high", "medium", "low"},
		{"none low high", "max", "high"},
		{"none low high", "minimal", "low"},
		{"none low high", "none", "none"},
		{"low high", "none", "low"},
		{"none", "low", ""},
		{"low", "much", "much"},
	} {
		traits := wire.Traits{Efforts: strings.Fields(test.known)}
		if test.known == "unknown" {
			traits.Efforts = nil
		}
		if got := traits.Effort(test.asked); got != test.want {
			t.Errorf("Efforts %q: Effort(%q) = %q, want %q", test.known, test.asked, got, test.want)
		}
	}
}

func TestObject(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	fields := map[string]json.RawMessage{"b": raw(`{ "x" : "<" }`), "a": raw("2"), "c": nil, `"`: raw("3")}
	got := string(bytes.Join(wire.Object(fields), nil))
	if want := `{"\"":3,"a":2,"b":{ "x" : "<" }}`; got != want {
		t.Errorf("Object = %s, want %s", got, want)
	}
	if got := string(bytes.Join(wire.Object(nil), nil)); got != "{}" {
		t.Errorf("Object(nil) = %s, want {}", got)
	}
}

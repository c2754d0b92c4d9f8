package storetest

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/sessions"
)

// withForeign is a message with fields of other programs, in itself and in its call.
func withForeign() sessions.Message {
	return sessions.Message{
		Role: sessions.RoleAssistant, Sender: "7", ToolCalls: []sessions.ToolCall{{ID: "c", Name: "f", Arguments: "{}"}},
		Extra: map[string]json.RawMessage{
			"mood":       raw(`{"a":[1.50,null,"\u003c"]}`),
			"tool_calls": raw(`[{"id":"c","index":7,"type":"function","function":{"name":"f","arguments":"{}"}}]`),
		},
	}
}

// foreignOf returns the fields of other programs of the conversation k.
func foreignOf(t *testing.T, r *rig, k string) string {
	t.Helper()
	c, err := r.Conversation(t.Context(), key(k))
	must(t, err)
	return string(c.Settings.Metadata[sessions.FieldsName])
}

// setForeign sets them.
func setForeign(t *testing.T, r *rig, k, fields string) {
	t.Helper()
	configure(t, r, k, func(s *sessions.Settings) {
		s.Metadata = map[string]json.RawMessage{sessions.FieldsName: raw(fields), "imported_places": raw(fields), "own": raw("1")}
	})
}

// Unknown fields of a message and of a conversation are copied between stores, and
// stay with their message or conversation.
func foreignThereAndBack(t *testing.T, a, b *rig) {
	ctx := t.Context()
	a.say(t, "x:1", "1", withForeign(), user("plain"))
	setForeign(t, a, "x:1", `{"format":"theirs","zeta":[1]}`)
	want := dump(t, a.Store)
	must(t, restore(t, b, feed(want, nil)))
	same(t, "the copy", dump(t, b.Store), want)
	ms, err := b.Messages(ctx, key("x:1"), 0, 9)
	must(t, err)
	same(t, "fields of a message", ms[0].Extra, withForeign().Extra)
	same(t, "fields of the conversation", foreignOf(t, b, "x:1"), `{"format":"theirs","zeta":[1]}`)
	if ms[1].Extra != nil {
		t.Errorf("the other message has %v", ms[1].Extra)
	}
}

// JSON that is nested too deep for an encoder is kept as text.
func foreignTooDeep(t *testing.T, r *rig) {
	deep := strings.Repeat("[", 9990) + strings.Repeat("]", 9990)
	m := user("hi")
	m.Extra = map[string]json.RawMessage{"deep": raw(deep)}
	r.say(t, "x:1", "1", m)
	configure(t, r, "x:1", func(s *sessions.Settings) { s.Metadata = map[string]json.RawMessage{"deep": raw(deep)} })
	ms, err := r.Messages(t.Context(), key("x:1"), 0, 1)
	must(t, err)
	c, err := r.Conversation(t.Context(), key("x:1"))
	must(t, err)
	if text := `"` + deep + `"`; string(ms[0].Extra["deep"]) != text || string(c.Settings.Metadata["deep"]) != text {
		t.Errorf("kept are %.20s and %.20s", ms[0].Extra["deep"], c.Settings.Metadata["deep"])
	}
}

// A joined conversation has the fields of both.
func joinsForeign(t *testing.T, r *rig) {
	for k, fields := range map[string]string{"x:a": `{"both":"a","one":1}`, "x:b": `{"both":"b","two":2}`} {
		r.say(t, k, k, user("hi"))
		setForeign(t, r, k, fields)
	}
	must(t, r.Join(t.Context(), key("x:a"), key("x:b")))
	same(t, "fields", foreignOf(t, r, "x:b"), `{"both":"b","one":1,"two":2}`)
}

// Unknown fields are erased with the messages of a person.
func erasesForeign(t *testing.T, r *rig) {
	ctx := t.Context()
	for _, k := range []string{"x:1", "x:2"} {
		m := withForeign()
		if k == "x:2" {
			m.Sender = "8"
		}
		r.say(t, k, k, m)
		setForeign(t, r, k, `{"who":"seven"}`)
	}
	_, err := r.Erase(ctx, sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})
	must(t, err)
	same(t, "fields of the erased conversation", foreignOf(t, r, "x:1"), "")
	same(t, "fields elsewhere", foreignOf(t, r, "x:2"), `{"who":"seven"}`)
	c, err := r.Conversation(ctx, key("x:1"))
	must(t, err)
	same(t, "the other metadata", string(c.Settings.Metadata["own"]), "1")
	same(t, "places of an earlier version", string(c.Settings.Metadata["imported_places"]), "")
	must(t, r.Delete(ctx, key("x:2")))
	for _, line := range dump(t, r.Store) {
		for _, word := range []string{"seven", "mood", "index"} {
			if strings.Contains(line, word) {
				t.Errorf("%q is left in %s", word, line)
			}
		}
	}
}

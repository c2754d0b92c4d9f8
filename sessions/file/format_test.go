package file_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"dragoman/sessions"
)

// A document has the fields that programs with such files know: a key,
// messages as models' interfaces have them, a summary, times, and metadata.
func TestDocumentFields(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	fill(t, s)
	must(t, s.Configure(t.Context(), key("x:call"), func(set *sessions.Settings) error {
		set.Metadata = map[string]json.RawMessage{"userId": json.RawMessage(`"42"`)}
		return nil
	}))
	want, err := s.Messages(t.Context(), key("x:call"), 0, 9)
	must(t, err)
	must(t, s.Close())
	got, err := p.open(t).Messages(t.Context(), key("x:call"), 0, 9)
	must(t, err)
	same(t, "messages from the document", got, want)

	type call struct {
		ID, Type string
		Function struct{ Name, Arguments string }
	}
	type said struct {
		Role       string  `json:"role"`
		Content    *string `json:"content"`
		ToolCalls  []call  `json:"tool_calls"`
		ToolCallID string  `json:"tool_call_id"`
	}
	var doc struct {
		Key, Summary, Created, Updated string
		Messages                       []said
		Metadata                       map[string]string
	}
	text := read(t, p.path("conversations/x_call.json"))
	must(t, json.Unmarshal(text, &doc))
	if doc.Key != "x:call" || doc.Metadata["userId"] != "42" || !strings.HasSuffix(doc.Created, "Z") || !strings.HasSuffix(doc.Updated, "Z") {
		t.Errorf("the document is\n%s", text)
	}
	one, two := call{ID: "c1", Type: "function"}, call{ID: "c2", Type: "function"}
	one.Function.Name = "time"
	one.Function.Arguments = `{"zone": "UTC"}`
	two.Function.Name = "f"
	none, noon := "", "12:00"
	same(t, "messages", doc.Messages, []said{
		{Role: "assistant", Content: &none, ToolCalls: []call{one, two}},
		{Role: "tool", Content: &noon, ToolCallID: "c1"},
	})
	if text := read(t, p.path("conversations/x_new.json")); !bytes.Contains(text, []byte(`  "summary": "sum",`)) {
		t.Errorf("there is no summary in\n%s", text)
	}
	for _, name := range []string{"conversations/x_call.json", "conversations/x_work.json"} {
		text := bytes.Join(bytes.Fields(read(t, p.path(name))), nil)
		if bytes.Contains(text, []byte(`"id":"c1","name"`)) || bytes.Contains(text, []byte(`"id":"c9","name"`)) || !bytes.Contains(text, []byte(`"type":"function","function":{"name":`)) {
			t.Errorf("the calls in %s are not all of one form:\n%s", name, text)
		}
	}
	if line := read(t, p.path("archive/x_call.jsonl")); !bytes.Contains(line, []byte(`"tool_calls":[{"id":"c1","type":"function","function":{"name":"time","arguments":"{\"zone\": \"UTC\"}"}}`)) {
		t.Errorf("the archive is\n%s", line)
	}
}

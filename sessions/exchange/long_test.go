package exchange_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

// A conversation of several chunks is read as a short one is: with the prompt and the
// summary around its messages, a function call and its result in different chunks, and
// unknown fields.
func TestLongConversation(t *testing.T) {
	text := strings.Repeat("<wörter> & mehr\u2028", 600)
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	add(`{"role":"system","content":"be kind"}`)
	add(`{"role":"developer","content":"and short"}`)
	const turns = 130 // more than a spool keeps in memory
	for i := range turns {
		add(`{"role":"user","content":%s,"mark":"<%d>","at":"2026-01-01T00:%02d:00Z"}`, quoted, i, i%60)
		add(`{"role":"assistant","content":null,"function_call":{"name":"look","arguments":"{}"}}`)
		add(`{"role":"function","name":"look","content":"seen %d"}`, i)
	}
	in := `{"messages":[` + strings.Join(list, ",\n") + `],"summary":"what was","updated":"2026-02-01T00:00:00Z","key":"x:1"}`
	r, err := exchange.NewReader(strings.NewReader(in), exchange.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := readAll(r)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d conversations, %v", len(all), err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	c := all[0]
	updated := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	if c.Settings.System != "be kind\n\nand short" || !c.Updated.Equal(updated) || c.Created.Minute() != 0 || c.MessageSeq != 3*turns+1 ||
		len(c.Summaries) != 1 || c.Summaries[0].CoversSeq != 1 || !c.Summaries[0].At.Equal(updated) {
		t.Errorf("the conversation is %+v", c.ConversationRecord)
	}
	if len(c.messages) != 3*turns+1 || c.messages[0].Content != "what was" || !c.messages[0].Summary {
		t.Fatalf("there are %d messages, the first is %+v", len(c.messages), c.messages[0])
	}
	for i := range turns {
		if said := &c.messages[3*i+1]; said.Content == text {
			said.Content = "the text" // a difference in it would be long to tell
		}
		at := time.Date(2026, 1, 1, 0, i%60, 0, 0, time.UTC)
		call := fmt.Sprint("call_", i+1)
		want := []sessions.Message{
			{Seq: int64(3*i + 2), Role: sessions.RoleUser, Content: "the text", At: at, Extra: map[string]json.RawMessage{"mark": raw(fmt.Sprintf(`"<%d>"`, i))}},
			{Seq: int64(3*i + 3), Role: sessions.RoleAssistant, At: at, ToolCalls: []sessions.ToolCall{{ID: call, Name: "look", Arguments: "{}"}}},
			{Seq: int64(3*i + 4), Role: sessions.RoleTool, Name: "look", ToolCallID: call, Content: fmt.Sprint("seen ", i), At: at},
		}
		same(t, fmt.Sprint("turn ", i), c.messages[3*i+1:3*i+4], want)
	}
}

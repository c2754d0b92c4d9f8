package api_test

import (
	"fmt"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
)

// A list shows plain words: what Markdown would not show is not in titles and last lines.
func TestListsShowPlainWords(t *testing.T) {
	for i, one := range []struct{ said, want string }{
		{"**Look** at `main.go`, _please_", "Look at main.go, please"},
		{"# Plan\n\n- buy *milk*\n- ~~bread~~", "Plan buy milk bread"},
		{"What is 2 * 3 * 4, and a_b_c?", "What is 2 * 3 * 4, and a_b_c?"},
		{"See [the page](https://example.org/a_b) and ![a map](m.png).", "See the page and a map."},
		{"```go\nx := 1\n```\nWhy?", "x := 1 Why?"},
		{"#garden is a channel", "#garden is a channel"},
		{"an [open bracket](never closed", "an [open bracket](never closed"},
		{"> quoted\n\nmine", "mine"},
	} {
		s := filled(t)
		k := channels.MustKey(fmt.Sprintf("telegram:9%d", i))
		e := sessions.Entry{Inbound: channels.Inbound{Key: k, ID: fmt.Sprint("plain-", i), Text: one.said, Sender: channels.Person{IDs: []string{"9"}}}, Answered: true}
		e.Append = []sessions.Message{sessions.UserMessage(e.Inbound), {Role: sessions.RoleAssistant, Content: one.said}}
		if _, err := s.Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		c, err := api.ReadConversation.Call(t.Context(), api.InProcess(api.New(optionsOf(s))), api.About{Key: k})
		if err != nil {
			t.Fatal(err)
		}
		if c.Derived != one.want || c.Last == nil || c.Last.Text != one.want {
			t.Errorf("%q is shown as %q and %+v, want %q", one.said, c.Derived, c.Last, one.want)
		}
	}
}

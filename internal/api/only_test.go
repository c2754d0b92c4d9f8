package api_test

import (
	"fmt"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// A kind of conversations is listed however far from the newest they are, and page by page.
func TestOnlyOneKind(t *testing.T) {
	s := sqlitetest.Open(t, now)
	accept := func(key string, n int, answered bool) {
		t.Helper()
		in := channels.Inbound{Key: channels.MustKey(key), ID: fmt.Sprint(key, n), Text: "x"}
		e := sessions.Entry{Inbound: in, Answered: answered}
		if answered {
			e.Append = []sessions.Message{sessions.UserMessage(in), {Role: sessions.RoleAssistant, Content: "y"}}
		}
		if _, err := s.Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	o := optionsOf(s)
	o.Notes = s
	c := api.InProcess(api.New(o))
	defer c.Close()
	for i := range 250 {
		key := fmt.Sprintf("telegram:%d", 1000+i)
		accept(key, 1, true)
		if i > 3 {
			if err := api.MarkRead.Call(t.Context(), c, api.ReadUpTo{Key: channels.MustKey(key)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	accept("telegram:1000", 2, false)
	accept("telegram:1001", 2, false)
	for _, q := range []struct {
		only, text string
		want       int
	}{{"unread", "", 4}, {"waiting", "", 2}, {"waiting", "1001", 1}, {"private", "12", 62}, {"groups", "", 0}, {"unread", "1249", 0}} {
		seen := make(map[channels.Key]bool)
		for after := ""; ; {
			page, err := api.Find.Call(t.Context(), c, api.ConversationQuery{Only: q.only, Text: q.text, After: after, Limit: 3})
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range page.Data {
				seen[one.Key] = true
				if q.only == "unread" && one.Unread == 0 || q.only == "waiting" && one.Waiting == 0 {
					t.Errorf("%s has %s: unread %d, waiting %d", q.only, one.Key, one.Unread, one.Waiting)
				}
			}
			after = page.Next
			if after == "" {
				break
			}
			if len(page.Data) != 3 {
				t.Errorf("%s: a page of %d before the last", q.only, len(page.Data))
			}
		}
		if len(seen) != q.want {
			t.Errorf("only %s, text %q: %d conversations, want %d", q.only, q.text, len(seen), q.want)
		}
	}
	if _, err := api.Find.Call(t.Context(), c, api.ConversationQuery{Only: "good"}); err == nil || err.Error() != "only is unread, waiting, private or groups" {
		t.Errorf("only good = %v", err)
	}
}

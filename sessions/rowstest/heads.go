package rowstest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// heads are listed in each order.
func heads(t *testing.T, b rows.Backend) {
	for i, k := range []string{"x:a", "x:b", "x:c"} {
		ch := said(channels.MustKey(k), fmt.Sprintf("20260501_%03d", i+1), 1)
		ch.Conversation.Updated = noon.Add(time.Duration(i/2) * time.Hour) // two of one moment
		switch k {
		case "x:b":
			ch.Conversation.Owners = []sessions.Owner{} // nobody
		case "x:c":
			ch.Conversation.Title = `"owners":[]}`
			ch.Conversation.Settings.Metadata = map[string]json.RawMessage{"owners": json.RawMessage(`[]`)}
		}
		put(t, b, of(ch))
	}
	put(t, b, of(queues(channels.MustKey("x:q"), 1, 1, []*rows.InPut{in(channels.MustKey("x:q"), 1, rules.InWaiting)})))
	at := func(o rows.Order, after *sessions.Cursor) []string {
		return list(t, b.Heads(t.Context(), o, after), headKey)
	}
	same(t, "by key", at(rows.ByKey, nil), []string{"x:a", "x:b", "x:c", "x:q"})
	same(t, "by key, after one that is not stored", at(rows.ByKey, &sessions.Cursor{Updated: noon, Key: channels.MustKey("x:aa")}), []string{"x:b", "x:c", "x:q"})
	same(t, "newest", at(rows.Newest, nil), []string{"x:c", "x:a", "x:b"})
	same(t, "oldest", at(rows.Oldest, nil), []string{"x:b", "x:a", "x:c"})
	same(t, "unowned", at(rows.Unowned, nil), []string{"x:c", "x:a"})
	same(t, "after a cursor", at(rows.Newest, &sessions.Cursor{Updated: noon, Key: channels.MustKey("x:a")}), []string{"x:b"})
}

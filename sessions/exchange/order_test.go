package exchange_test

import (
	"bytes"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

// Messages are never written into another conversation than theirs: formats for people
// refuse an order in which they would be.
func TestWritersCheckTheOrder(t *testing.T) {
	head := func(key string) sessions.Record {
		return sessions.Record{Conversation: &sessions.ConversationRecord{Key: channels.MustKey(key)}}
	}
	said := func(key string) sessions.Record {
		return sessions.Record{Messages: &sessions.MessagesRecord{Key: channels.MustKey(key), Messages: []sessions.Message{{Role: sessions.RoleUser, Content: "hi"}}}}
	}
	for name, test := range map[string]struct {
		records []sessions.Record
		right   bool
	}{
		"one after the other":   {[]sessions.Record{head("web:a"), said("web:a"), said("web:a"), head("web:b"), said("web:b")}, true},
		"without messages":      {[]sessions.Record{head("web:a"), head("web:b"), said("web:b")}, true},
		"before any":            {[]sessions.Record{said("web:a")}, false},
		"of the one before":     {[]sessions.Record{head("web:a"), said("web:a"), head("web:b"), said("web:a")}, false},
		"of the next one":       {[]sessions.Record{head("web:a"), said("web:b"), head("web:b")}, false},
		"of one that is no key": {[]sessions.Record{head("web:a"), {Messages: &sessions.MessagesRecord{Messages: []sessions.Message{{Content: "hi"}}}}}, false},
	} {
		for _, format := range []exchange.Format{exchange.JSON, exchange.Markdown, exchange.JSONL} {
			var b bytes.Buffer
			w, err := exchange.NewWriter(&b, format, exchange.WriterOptions{List: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range test.records {
				if err == nil {
					err = w.Put(r)
				}
			}
			want := test.right || format == exchange.JSONL // its lines need no order
			if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "do not follow their conversation") {
				t.Errorf("%s, %s: Put = %v, right: %v", name, format, err, want)
			}
		}
	}
}

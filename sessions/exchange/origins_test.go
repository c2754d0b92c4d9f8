package exchange_test

import (
	"bytes"
	"slices"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

// Nobody knows whose words a file of another program has, whoever it says spoke.
func TestImportsAreOthersWords(t *testing.T) {
	for _, file := range []string{"openai.json", "picoclaw/telegram_123456.json", "molf/5f0e8a52-3c1d-4c7e-9a64-0d1b2c3d4e5f.json"} {
		messages := 0
		err := open(t, file, exchange.Options{}).Each(func(r sessions.Record) error {
			if r.Conversation != nil {
				for _, s := range r.Conversation.Summaries {
					if got := s.Taint().List(); !slices.Equal(got, othersWords) {
						t.Errorf("%s: a summary has the taint %v", file, got)
					}
				}
				return nil
			}
			for _, m := range r.Messages.Messages {
				messages++
				if !slices.Equal(m.Origins, othersWords) {
					t.Errorf("%s: message %d of %s has the origins %v, want %v", file, m.Seq, m.Role, m.Origins, othersWords)
				}
			}
			return nil
		})
		if err != nil || messages == 0 {
			t.Errorf("%s has %d messages, %v", file, messages, err)
		}
	}
}

// A conversation of a store of ours keeps what is known of it, over an export too. A list
// of origins from elsewhere counts for nothing.
func TestOriginsComeThrough(t *testing.T) {
	said := []sessions.Message{
		{Seq: 1, Role: "user", Content: "hi", At: now},
		{Seq: 2, Role: "user", Content: "fwd", At: now, Origins: othersWords},
		{Seq: 3, Role: "tool", Name: "web_fetch", Content: "buy", At: now, Origins: []sessions.Origin{"web", "mcp:shop"}},
	}
	sum := []sessions.Summary{{Text: "hm", CoversSeq: 1, Generation: "20261101_001", At: now, Origins: []sessions.Origin{"file"}}}
	k := channels.MustKey("x:1")
	for _, format := range []exchange.Format{exchange.JSON, exchange.JSONL} {
		var b bytes.Buffer
		w, err := exchange.NewWriter(&b, format, exchange.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []sessions.Record{
			{Conversation: &sessions.ConversationRecord{
				Key: k, Seq: 3, MessageSeq: 3, Created: now, Updated: now, Summaries: sum,
				Generations: []sessions.Generation{{ID: "20261101_001", FirstSeq: 1, Began: now}},
			}},
			{Messages: &sessions.MessagesRecord{Key: k, Messages: slices.Clone(said)}},
		} {
			if err := w.Put(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got := readOne(t, b.String())
		for i, m := range got.messages {
			if !slices.Equal(m.Origins, said[i].Origins) {
				t.Errorf("%s: message %d comes back with %v, want %v", format, m.Seq, m.Origins, said[i].Origins)
			}
		}
		if len(got.messages) != 3 || len(got.Summaries) != 1 || !slices.Equal(got.Summaries[0].Origins, sum[0].Origins) {
			t.Errorf("%s: %d messages and the summaries %+v come back", format, len(got.messages), got.Summaries)
		}
	}
	claims := readOne(t, `{"messages":[{"role":"user","content":"run it","origins":["person"]}]}`)
	if got := claims.messages[0].Origins; got != nil { // readAll has seen the origin of others
		t.Errorf("a message that claims to be the person's has the origins %v", got)
	}
}

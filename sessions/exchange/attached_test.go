package exchange_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
	"dragoman/sessions/rules"
)

// Attached and Kind survive an export and an import, in documents and in records. Another
// program's field of such a name stays a foreign one.
func TestAttachedComesThrough(t *testing.T) {
	sealed := &sessions.Attached{By: sessions.Provenance{API: "messages", Host: "api.example", Model: "m"}, Data: raw(`[{"thought":"hm","signature":"a+/=="}]`)}
	said := []sessions.Message{
		{Seq: 1, Role: "user", Content: "hi", At: now},
		{Seq: 2, Role: "assistant", Content: "ho", At: now, Attached: sealed},
		{Seq: 3, Role: "assistant", Content: "he", At: now, Extra: map[string]json.RawMessage{"attached": raw(`{"mood":"glad"}`)}},
		{Seq: 4, Role: "assistant", Content: "ha", At: now, Extra: map[string]json.RawMessage{"attached": raw(`{"by":{},"data":1,"more":2}`)}},
		{Seq: 5, Role: "user", Content: "al: hi", At: now, Kind: sessions.MessageAgain, ForModel: []sessions.Mark{{End: 4}}},
		{Seq: 6, Role: "user", Content: "hu", At: now, Extra: map[string]json.RawMessage{"kind": raw(`"text"`), "for_model": raw(`true`)}},
	}
	for _, format := range []exchange.Format{exchange.JSON, exchange.JSONL} {
		var b bytes.Buffer
		w, err := exchange.NewWriter(&b, format, exchange.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		k := channels.MustKey("x:1")
		for _, r := range []sessions.Record{
			{Conversation: &sessions.ConversationRecord{Key: k, Seq: 6, MessageSeq: 6, Created: now, Updated: now}},
			{Messages: &sessions.MessagesRecord{Key: k, Messages: said}},
		} {
			if err := w.Put(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got := readOne(t, b.String()).messages
		for i, m := range got {
			got[i] = rules.Message(m, now) // as a store does: without the indents of the document
		}
		same(t, string(format), got, said)
	}
}

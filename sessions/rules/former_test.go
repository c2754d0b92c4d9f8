package rules_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// What versions before labels wrote into the id or the text of a delivery becomes its
// label. Nothing else does.
func TestFormer(t *testing.T) {
	job := sessions.Label{Kind: channels.KindJob, Turn: "heartbeat:night#12", Job: "night", Part: 2}
	for _, test := range []struct {
		id, text string
		want     sessions.Label
		shown    string
	}{
		{"a-1-2", "hello", sessions.Label{}, "hello"},
		{"job:12:1795905910:1:night", "good night", job, "good night"},
		{"job:12:1795905910:1:night", "<!-- answer.md -->\ngood", sessions.Label{Kind: channels.KindJob, Turn: "heartbeat:night#12", Job: "night", Part: 2, File: "answer.md"}, "good"},
		{"job:12:1795905910:0:a:b", "x", sessions.Label{Kind: channels.KindJob, Turn: "heartbeat:a:b#12", Job: "a:b", Part: 1}, "x"},
		{"job:1:2:x:night", "x", sessions.Label{}, "x"},
		{"job:1", "x", sessions.Label{}, "x"},
		{"turn:0123456789abcdef.ONCE.3.1", "\rtwo", sessions.Label{Kind: channels.KindAnswer, Part: 2, Parts: 3, Form: channels.FormNative}, "two"},
		{"turn:0123456789abcdef.ONCE.3.3", "x", sessions.Label{}, "x"},
		{"turn:0123456789abcdef.ONCE", "x", sessions.Label{}, "x"},
		{"a-1-2", "Sorry, I could not (error 1a2b3c).\n\nSet the key.", sessions.Label{Kind: channels.KindApology}, "Sorry, I could not (error 1a2b3c).\n\nSet the key."},
		{"a-1-2", "\rSorry, I could not (error 1a2b3c).", sessions.Label{Kind: channels.KindApology, Form: channels.FormNative}, "Sorry, I could not (error 1a2b3c)."},
		{"a-1-2", "Sorry, that is all I know.", sessions.Label{}, "Sorry, that is all I know."},
	} {
		o := rules.Former(sessions.OutboxRecord{Delivery: sessions.Delivery{ID: test.id, Text: test.text}})
		if diff := cmp.Diff(test.want, o.Label); diff != "" || o.Text != test.shown {
			t.Errorf("Former(%s, %q) shows %q (-want +got):\n%s", test.id, test.text, o.Text, diff)
		}
	}
	labelled := sessions.OutboxRecord{Delivery: sessions.Delivery{ID: "job:1:2:0:x", Text: "<!-- answer.md -->\nx"}}
	labelled.Kind = channels.KindNotice
	if got := rules.Former(labelled); got != labelled {
		t.Errorf("a delivery with a kind is changed to %+v", got)
	}
}

func TestFormerInbound(t *testing.T) {
	for text, want := range map[string]channels.Inbound{
		"[asks for another answer to:] what is Go?": {Text: "what is Go?", Again: true},
		"he said [asks for another answer to:] it":  {Text: "he said [asks for another answer to:] it"},
	} {
		if got := rules.FormerInbound(channels.Inbound{Text: text}); got.Text != want.Text || got.Again != want.Again {
			t.Errorf("FormerInbound(%q) = %q, %v, want %q, %v", text, got.Text, got.Again, want.Text, want.Again)
		}
	}
}

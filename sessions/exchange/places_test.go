package exchange_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
	"dragoman/sessions/memory"
	"dragoman/sessions/storetest"
)

// documentOf is x:1 of s as a document.
func documentOf(t *testing.T, s sessions.Store) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := exchange.NewWriter(&b, exchange.JSON, exchange.WriterOptions{})
	if err == nil {
		err = errors.Join(s.Dump(t.Context(), []channels.Key{channels.MustKey("x:1")}, w.Put), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func storeOf(t *testing.T, document []byte) sessions.Store {
	t.Helper()
	s := memory.New(memory.Options{})
	r, err := exchange.NewReader(bytes.NewReader(document), exchange.Options{})
	if err == nil {
		err = s.Restore(t.Context(), r.Next)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Case 48: what others put into any object of a document that was written out
// is taken in with it, and written where it stood.
func TestCase48FieldsInEveryObjectOfAnExport(t *testing.T) {
	first := memory.New(memory.Options{})
	storetest.Whole(t, first, channels.MustKey("x:1"))
	document, places := storetest.Everywhere(t, documentOf(t, first))
	if len(places) < 20 {
		t.Fatalf("there are only %d objects", len(places))
	}
	s := storeOf(t, document)
	for range 2 {
		text := documentOf(t, s)
		if missing := storetest.FindEverywhere(t, text, places); len(missing) > 0 {
			t.Errorf("%d of %d fields are not where they were: %q in\n%s", len(missing), len(places), missing, text)
		}
		s = storeOf(t, text)
	}
	ms, err := s.Messages(t.Context(), channels.MustKey("x:1"), 3, 2)
	if err != nil || len(ms[0].Attachments) != 2 || ms[1].Usage == nil || ms[1].Usage.Input != 30 || len(ms[1].ToolCalls) != 2 {
		t.Errorf("what is ours is %+v, %v", ms, err)
	}
	c, err := s.Conversation(t.Context(), channels.MustKey("x:1"))
	if err != nil || c.Model != "m" || c.System != "be short" {
		t.Errorf("Conversation = %+v, %v", c, err)
	}
}

// What has the name of a part of ours and is something else stays what it is.
func TestPartsOfOthers(t *testing.T) {
	const theirs = `{"settings":{"theme":"dark"},"summaries":[{"text":"short","id":5}],"generations":[{"model":"m"}],"key":"x:1",
		"messages":[{"role":"user","content":"hi","usage":{"prompt_tokens":3},"attachments":[{"url":"u","type":"image"}]}]}`
	s := storeOf(t, []byte(theirs))
	for range 2 {
		text := documentOf(t, s)
		compact := strings.Join(strings.Fields(string(text)), "")
		for _, want := range []string{`"settings":{"theme":"dark"}`, `"summaries":[{"text":"short","id":5}]`, `"prompt_tokens":3`, `"attachments":[{"url":"u","type":"image"}]`} {
			if !strings.Contains(compact, want) {
				t.Errorf("there is no %s in\n%s", want, text)
			}
		}
		s = storeOf(t, text)
	}
}

// The key that opens a file is in no export, whatever else is beside it.
func TestOriginalOfAttachmentsHasNoKey(t *testing.T) {
	s := storeOf(t, []byte(`{"key":"x:1","messages":[{"role":"user","content":"hi","attachments":[{"kind":"image","ref":"secret","theirs":1}]}]}`))
	if text := string(documentOf(t, s)); strings.Contains(text, "secret") || !strings.Contains(text, `"theirs": 1`) {
		t.Errorf("it is\n%s", text)
	}
}

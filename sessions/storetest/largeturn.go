package storetest

import (
	"strings"
	"testing"

	"dragoman/sessions"
)

// largeFirstTurn: even if the first turn of a conversation is so large that a store
// writes it in parts, its messages are answered and its reply is sent.
func largeFirstTurn(t *testing.T, r *rig) {
	r.accept(t, "x:1", "asked", "hi")
	h := r.claim(t)
	p, err := r.Pending(t.Context(), h.Claim, 9)
	must(t, err)
	long := strings.Repeat("word ", 1<<18) // more than a mebibyte
	must(t, r.CommitTurn(t.Context(), h.Claim, sessions.Turn{
		ID: "t", Answers: []sessions.Answered{{Seq: p.Messages[0].Seq, Rev: p.Messages[0].Rev}},
		Messages: []sessions.Message{user("hi"), assistant(long)}, Replies: []sessions.Reply{{Text: "done"}},
	}))
	p, err = r.Pending(t.Context(), h.Claim, 9)
	must(t, err)
	if len(p.Messages) != 0 {
		t.Errorf("%d messages wait after the turn", len(p.Messages))
	}
	same(t, "deliveries", r.deliver(t, h), []string{"done"})
	h.release(nil)
	ms, err := r.Messages(t.Context(), key("x:1"), 0, 9)
	must(t, err)
	if len(ms) != 2 {
		t.Errorf("the transcript has %d messages, want 2", len(ms))
	}
	feed, err := r.Feed(t.Context(), key("x:1"), 0, 9)
	must(t, err)
	if len(feed) != 2 || feed[0].Waiting {
		t.Errorf("the feed is %+v, want a question that was answered and its answer", feed)
	}
}

// deletesLargeAndUnsent: unsent deliveries outlive their conversation, however large
// that is.
func deletesLargeAndUnsent(t *testing.T, r *rig) {
	var said []sessions.Message
	for range 600 {
		said = append(said, user("hi"))
	}
	r.enter(t, sessions.Entry{Inbound: in("x:1", "1", "/x"), Answered: true, Append: said, Replies: []sessions.Reply{{Text: "unsent"}}}, sessions.Done)
	must(t, r.Delete(t.Context(), key("x:1")))
	if queue, err := r.ListQueue(t.Context(), 9); err != nil || len(queue) != 1 {
		t.Errorf("ListQueue = %+v, %v, want the answer", queue, err)
	}
	h := r.claim(t)
	same(t, "deliveries", r.deliver(t, h), []string{"unsent"})
	h.release(nil)
}

package storetest

import (
	"slices"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
)

var inboxTests = map[string]func(*testing.T, *rig){
	"Inbox/KnownByAFormerID": func(t *testing.T, r *rig) {
		seq := r.accept(t, "x:1", "ask:1", "what is Go?")
		e := sessions.Entry{Inbound: in("x:1", "a5f0", "what is Go?"), FormerID: "ask:1"}
		if a := r.enter(t, e, sessions.Duplicate); a.Seq != seq {
			t.Errorf("Accept = %+v, want the seq %d", a, seq)
		}
		e.FormerID = "ask:2"
		r.enter(t, e, sessions.Queued)
		r.enter(t, e, sessions.Duplicate)
		r.pending(t, r.claim(t), 0, "what is Go?", "what is Go?")
	},
	"Inbox/NumbersAndCounts": func(t *testing.T, r *rig) {
		for i := range 3 {
			a := r.enter(t, sessions.Entry{Inbound: in("x:1", number("", i), "hi")}, sessions.Queued)
			if a.Seq != int64(i+1) || a.Waiting != i+1 {
				t.Errorf("message %d: %+v", i, a)
			}
		}
		if a := r.enter(t, sessions.Entry{Inbound: in("x:2", "9", "hi")}, sessions.Queued); a.Seq != 1 || a.Waiting != 1 {
			t.Errorf("another key shares the sequence: %+v", a)
		}
	},
	"Inbox/SameIDIsStoredOnce": func(t *testing.T, r *rig) {
		first := r.accept(t, "x:1", "1", "hi")
		a := r.enter(t, sessions.Entry{Inbound: in("x:1", "1", "other")}, sessions.Duplicate)
		if a.Seq != first || a.Waiting != 1 {
			t.Errorf("duplicate: %+v", a)
		}
		// An id is unique in the channel, not in the chat.
		r.enter(t, sessions.Entry{Inbound: in("x:2", "1", "hi")}, sessions.Duplicate)
		r.enter(t, sessions.Entry{Inbound: in("y:1", "1", "hi")}, sessions.Queued)
		h := r.claim(t)
		for h.Key != key("x:1") {
			r.commit(t, h, "y")
			r.deliver(t, h)
			h.release(nil)
			h = r.claim(t)
		}
		r.pending(t, h, 0, "hi")
		r.commit(t, h, "done")
		r.deliver(t, h)
		h.release(nil)
		// It stays a duplicate after the answer, for good.
		r.enter(t, sessions.Entry{Inbound: in("x:1", "1", "hi"), Answered: true, Control: sessions.ControlNew, Append: []sessions.Message{user("no")}}, sessions.Duplicate)
		same(t, "transcript", r.transcript(t, "x:1"), []string{"user: hi", "assistant: done"})
	},
	"Inbox/FullQueueRefuses": func(t *testing.T, r *rig) {
		for i := range 2 {
			r.enter(t, sessions.Entry{Inbound: in("x:1", number("", i), "hi"), MaxWaiting: 2}, sessions.Queued)
		}
		_, err := r.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", "3", "hi"), MaxWaiting: 2})
		is(t, "Accept of one too many", err, sessions.ErrFull)
		r.enter(t, sessions.Entry{Inbound: in("x:2", "4", "hi"), MaxWaiting: 2}, sessions.Queued)
		r.enter(t, sessions.Entry{Inbound: in("x:1", "5", "/status"), MaxWaiting: 2, Answered: true}, sessions.Done)
		// Nothing of the refused message was stored, not even its id.
		if a := r.enter(t, sessions.Entry{Inbound: in("x:1", "3", "hi"), MaxWaiting: 3}, sessions.Queued); a.Waiting != 3 {
			t.Errorf("after a refusal: %+v", a)
		}
	},
	"Inbox/AnsweredStartsNoTurn": func(t *testing.T, r *rig) {
		a := r.enter(t, sessions.Entry{
			Inbound: in("x:1", "1", "/help"), Answered: true,
			Replies: []sessions.Reply{{Text: "one", ReplyTo: "m1"}, {Text: "two"}, {Key: key("y:9"), Text: "elsewhere"}},
		}, sessions.Done)
		if a.Seq != 1 || a.Waiting != 0 {
			t.Errorf("answered: %+v", a)
		}
		got := map[string][]string{}
		for range 2 {
			h := r.claim(t)
			r.pending(t, h, 0)
			got[h.Key.String()] = r.deliver(t, h)
			h.release(nil)
		}
		same(t, "deliveries", got, map[string][]string{"x:1": {"one", "two"}, "y:9": {"elsewhere"}})
		if c, err := r.Find(t.Context(), sessions.Query{Limit: 10}); err != nil || len(c) != 0 {
			t.Errorf("Find = %v, %v: a command without Append made a conversation", c, err)
		}
	},
	// A reply is never visible without its message, and a refused entry leaves
	// neither.
	"Inbox/AnsweredIsAddedWithItsReply": func(t *testing.T, r *rig) {
		e := sessions.Entry{
			Inbound: in("x:1", "1", "/note"), Answered: true, Control: "explode",
			Append: []sessions.Message{user("noted")}, Replies: []sessions.Reply{{Text: "I noted it"}},
		}
		if a, err := r.Accept(t.Context(), e); err == nil {
			t.Errorf("Accept with an unknown control = %+v", a)
		}
		same(t, "transcript after a refusal", r.transcript(t, "x:1"), nil)
		r.noClaim(t, 0, "of a refused entry")

		e.Control = ""
		accepted := make(chan error, 1)
		go func() {
			_, err := r.Accept(r.ctx, e)
			accepted <- err
		}()
		h := r.claim(t) // there is a reply to send, whether Accept has returned or not
		same(t, "transcript at the first sight of the reply", r.transcript(t, "x:1"), []string{"user: noted"})
		must(t, <-accepted)
		r.pending(t, h, 0)
		same(t, "deliveries", r.deliver(t, h), []string{"I noted it"})
		h.release(nil)

		r.enter(t, e, sessions.Duplicate)
		same(t, "transcript after a duplicate", r.transcript(t, "x:1"), []string{"user: noted"})
		r.noClaim(t, 0, "of a duplicate")
	},
	"Inbox/RefusesNonsense": func(t *testing.T, r *rig) {
		for name, e := range map[string]sessions.Entry{
			"no key":             {Inbound: channels.Inbound{ID: "1", Text: "hi"}},
			"no id":              {Inbound: channels.Inbound{Key: key("x:1"), Text: "hi"}},
			"control unanswered": {Inbound: in("x:1", "2", "/stop"), Control: sessions.ControlStop},
			"unknown control":    {Inbound: in("x:1", "3", "/x"), Answered: true, Control: "explode"},
		} {
			if a, err := r.Accept(t.Context(), e); err == nil {
				t.Errorf("%s: %+v", name, a)
			}
		}
		r.noClaim(t, 0, "of a refused entry")
	},
	"Inbox/Case38KeysThatLookAlikeStayApart": func(t *testing.T, r *rig) {
		keys := []string{
			"x:1_2", "x_1:2", "x:1:2", "x:1", "x:1 ", "x: 1", "x:#a", "x:##a", "x:#A", "x:x/1", "x:x_1", "x:../1",
			"x:%31", "x:1%00", "x:å", "x:a\u030a", "x:CON", "x:.", "x:'", "x:\"", "x:*", "x-1:2",
		}
		for i, k := range keys {
			r.say(t, k, number("k", i), user("in "+k))
			r.accept(t, k, number("q", i), "to "+k)
		}
		for _, k := range keys {
			same(t, "transcript of "+k, r.transcript(t, k), []string{"user: in " + k})
		}
		list, err := r.Find(t.Context(), sessions.Query{Limit: 100})
		must(t, err)
		if len(list) != len(keys) {
			t.Errorf("List has %d conversations, want %d", len(list), len(keys))
		}
		for range keys {
			h := r.claim(t)
			r.pending(t, h, 0, "to "+h.Key.String())
			r.commit(t, h, "ok")
			r.deliver(t, h)
			h.release(nil)
		}
	},
	"Inbox/SetAsideOnce": func(t *testing.T, r *rig) {
		raw := []byte{0xff, 0, '{'}
		for range 2 {
			must(t, r.Quarantine(t.Context(), sessions.Quarantined{Channel: "x", ID: "1", Raw: raw, Why: "not JSON"}))
		}
		raw[0] = 'z'
		must(t, r.Quarantine(t.Context(), sessions.Quarantined{Channel: "y", ID: "1", Raw: raw, Why: "not JSON"}))
		list, err := r.ListQueue(t.Context(), 10)
		must(t, err)
		if len(list) != 2 || list[0].Lane != "aside" || list[0].Bytes != 3 || list[0].Error != "not JSON" || list[0].Text != "" {
			t.Fatalf("ListQueue = %+v", list)
		}
		i := slices.IndexFunc(list, func(it sessions.QueueItem) bool { return it.Channel == "x" })
		it, err := r.ShowQueue(t.Context(), list[i].ID)
		must(t, err)
		same(t, "text of the quarantined message", it.Text, "\uFFFD\x00{")
		r.noClaim(t, 0, "of somemessage set aside")
	},
}

package storetest

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

var deletedTests = map[string]func(*testing.T, *rig){
	"Delete/LeavesNoWords":                 deletesWords,
	"Delete/WhatWaitsIsAnswered":           deletesAroundWaiting,
	"Delete/WhatCameOutAfterwards":         deletesTwice,
	"Delete/NewAndRestOfTheStoreKeepWords": newKeepsWords,
	"Expire/LeavesNoWords":                 expiresWords,
}

// wordsOf counts the records of the store, and the items in the feed of x:1, that
// contain word.
func (r *rig) wordsOf(t *testing.T, word string) (records, shown int) {
	t.Helper()
	must(t, r.Dump(t.Context(), nil, func(rec sessions.Record) error {
		b, err := json.Marshal(rec)
		if strings.Contains(string(b), word) {
			records++
		}
		return err
	}))
	feed, err := r.Feed(t.Context(), key("x:1"), 0, 99)
	must(t, err)
	for _, it := range feed {
		if strings.Contains(it.Text, word) {
			shown++
		}
	}
	return records, shown
}

func (r *rig) wordless(t *testing.T, after string) {
	t.Helper()
	if records, shown := r.wordsOf(t, "needle"); records+shown > 0 {
		t.Errorf("after %s, %d records and %d items of the feed contain the word", after, records, shown)
	}
	if found, err := r.SearchAll(t.Context(), sessions.Search{Query: "needle", Limit: 9}); err != nil || len(found) > 0 {
		t.Errorf("SearchAll after %s = %+v, %v", after, found, err)
	}
}

// talk leaves a finished row of each kind in x:1: messages "1" to "7".
func (r *rig) talk(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	r.accept(t, "x:1", "1", "asked needle")
	r.enter(t, edit("x:1", "2", "m1", "edited needle"), sessions.Replaced)
	r.accept(t, "x:1", "3", "withdrawn needle")
	r.enter(t, gone("x:1", "4", "m3", channels.DeletedBySender), sessions.Withdrawn)
	h := r.claim(t)
	r.commit(t, h, "answered needle")
	same(t, "deliveries", r.deliver(t, h), []string{"answered needle"})
	h.release(nil)
	r.accept(t, "x:1", "5", "closed needle")
	stop := control("x:1", "6", sessions.ControlStop)
	stop.Replies = []sessions.Reply{{Text: "dead needle"}, {Text: "dropped needle"}}
	r.enter(t, stop, sessions.Done)
	h = r.claim(t)
	for h.Key != key("x:1") || h.ctx.Err() != nil {
		h.release(nil)
		h = r.claim(t)
	}
	ds, err := r.Unsent(ctx, h.Claim, 0)
	must(t, err)
	must(t, r.MarkDead(ctx, h.Claim, ds[0].ID, "no"))
	must(t, r.MarkDead(ctx, h.Claim, ds[1].ID, "no"))
	h.release(nil)
	items, err := r.ListQueue(ctx, 9)
	must(t, err)
	must(t, r.DropQueue(ctx, items[len(items)-1].ID))
	r.say(t, "x:1", "7", user("noted needle"), thoughtful("a note", "needle"))
}

// known checks that messages of talk that come again are duplicates, and that changes
// of them are unknown.
func (r *rig) known(t *testing.T) {
	t.Helper()
	for _, id := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		r.enter(t, sessions.Entry{Inbound: in("x:1", id, "again")}, sessions.Duplicate)
	}
	for i, id := range []string{"m1", "m3", "m5"} {
		r.enter(t, edit("x:1", number("e", i), id, "changed"), sessions.Unknown)
		r.enter(t, gone("x:1", number("g", i), id, channels.DeletedBySender), sessions.Unknown)
	}
}

func deletesWords(t *testing.T, r *rig) {
	r.talk(t)
	if records, shown := r.wordsOf(t, "needle"); records < 8 || shown < 3 {
		t.Fatalf("before: %d records, %d items", records, shown)
	}
	must(t, r.Delete(t.Context(), key("x:1")))
	r.wordless(t, "Delete")
	r.known(t)
	r.noClaim(t, 0, "of what was deleted")
	if st, err := r.Stats(t.Context()); err != nil || st.Waiting+st.Unsent+st.Dead != 0 {
		t.Errorf("Stats = %+v, %v", st, err)
	}
	is(t, "Delete again", r.Delete(t.Context(), key("x:1")), sessions.ErrNotFound)
	// The conversation can begin anew, with seqs that were never used.
	if seq := r.accept(t, "x:1", "8", "anew"); seq < 9 {
		t.Errorf("seq %d was given before", seq)
	}
}

func expiresWords(t *testing.T, r *rig) {
	r.talk(t)
	var gone []channels.Key
	for end := time.Now().Add(patience); len(gone) == 0 && time.Now().Before(end); runtime.Gosched() {
		var err error // the last claim may be about to end
		gone, err = r.Expire(t.Context(), time.Now().Add(time.Hour), 9)
		must(t, err)
	}
	same(t, "Expire", gone, []channels.Key{key("x:1")})
	r.wordless(t, "Expire")
	r.known(t)
	r.noClaim(t, 0, "of what has expired")
}

// deletesAroundWaiting: waiting messages are answered, and unsent deliveries sent.
func deletesAroundWaiting(t *testing.T, r *rig) {
	r.talk(t)
	r.enter(t, sessions.Entry{Inbound: in("x:1", "8", "needle"), Answered: true, Replies: []sessions.Reply{{Text: "unsent"}}}, sessions.Done)
	r.enter(t, edit("x:1", "10", "m9", "first words"), sessions.Queued)
	seq := r.accept(t, "x:1", "9", "waits")
	h := r.claim(t)
	must(t, r.AppendStep(t.Context(), h.Claim, "t", []sessions.Answered{{Seq: seq}}, sessions.Step{Kind: sessions.StepNote, CallID: "c"}))
	ds, err := r.Unsent(t.Context(), h.Claim, 0)
	must(t, err)
	must(t, r.MarkSending(t.Context(), h.Claim, ds[0].ID))
	must(t, r.Delete(t.Context(), key("x:1")))
	r.wordless(t, "Delete")
	r.known(t)
	feed, err := r.Feed(t.Context(), key("x:1"), 0, 99)
	must(t, err)
	if len(feed) != 3 || feed[0].Text != "unsent" || !feed[1].Waiting || !feed[2].Waiting {
		t.Errorf("Feed = %+v", feed)
	}
	must(t, r.MarkSent(t.Context(), h.Claim, ds[0].ID, channels.Receipt{}))
	if p := r.pending(t, h, 0, "waits"); p.Turn != "t" || len(p.Steps) != 1 {
		t.Errorf("Pending = %+v", p)
	}
	r.commit(t, h, "re waits")
	r.pending(t, h, 0, "first words")
	r.enter(t, edit("x:1", "11", "m9", "better words"), sessions.Replaced)
	r.commit(t, h, "re words")
	same(t, "deliveries", r.deliver(t, h), []string{"re waits", "re words"})
	same(t, "transcript", r.transcript(t, "x:1"), []string{"user: waits", "assistant: re waits", "user: better words", "assistant: re words"})
}

// deletesTwice: a delivery that was unsent when its conversation was deleted can be
// deleted once it is sent.
func deletesTwice(t *testing.T, r *rig) {
	r.enter(t, sessions.Entry{Inbound: in("x:1", "1", "/x"), Answered: true, Append: []sessions.Message{user("a")}, Replies: []sessions.Reply{{Text: "needle"}}}, sessions.Done)
	must(t, r.Delete(t.Context(), key("x:1")))
	is(t, "Delete of what is unsent", r.Delete(t.Context(), key("x:1")), sessions.ErrNotFound)
	h := r.claim(t)
	same(t, "deliveries", r.deliver(t, h), []string{"needle"})
	if _, shown := r.wordsOf(t, "needle"); shown != 1 {
		t.Errorf("%d items are shown", shown)
	}
	must(t, r.Delete(t.Context(), key("x:1")))
	r.wordless(t, "the second Delete")
}

func newKeepsWords(t *testing.T, r *rig) {
	r.talk(t)
	r.say(t, "x:2", "8", user("another"))
	records, shown := r.wordsOf(t, "needle")
	r.enter(t, control("x:1", "9", sessions.ControlNew), sessions.Done)
	must(t, r.Delete(t.Context(), key("x:2")))
	if now, visible := r.wordsOf(t, "needle"); now != records || visible != shown {
		t.Errorf("%d records and %d items, were %d and %d", now, visible, records, shown)
	}
	r.enter(t, edit("x:1", "10", "m1", "changed"), sessions.Noted)
}

// deletedStays: the same holds after restarts.
func deletedStays(t *testing.T, reopen func() *rig) {
	r := reopen()
	r.talk(t)
	r.accept(t, "x:1", "8", "waits")
	must(t, r.Delete(t.Context(), key("x:1")))
	for range 2 {
		r = reopen()
		r.wordless(t, "a restart")
		r.known(t)
		if feed, err := r.Feed(t.Context(), key("x:1"), 0, 9); err != nil || len(feed) != 1 || !feed[0].Waiting {
			t.Errorf("Feed = %+v, %v", feed, err)
		}
	}
	r.pending(t, r.claim(t), 0, "waits")
}

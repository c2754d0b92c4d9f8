package storetest

import (
	"errors"
	"io"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
)

// anew is a message of alice in x:1 that takes the place of the message numbered seq.
func anew(id, text string, seq int64) sessions.Entry {
	return sessions.Entry{Inbound: in("x:1", id, text), Replaces: seq}
}

// exchanged has alice ask questions in x:1, and answers each: message 1 is the first
// question, 2 its answer, and so on.
func exchanged(t *testing.T, r *rig, questions ...string) {
	t.Helper()
	for _, q := range questions {
		h := r.held(t, "x:1", q, q)
		r.commit(t, h, "on "+q)
		r.deliver(t, h)
		h.release(nil)
	}
}

// answered answers what waits in x:1.
func answered(t *testing.T, r *rig, text string) {
	t.Helper()
	h := r.claim(t)
	r.commit(t, h, text)
	r.deliver(t, h)
	h.release(nil)
}

const replacedNote = "[alice wrote an earlier message anew: it and what followed no longer count]"

var replaceTests = map[string]func(*testing.T, *rig){
	"Replace/HidesWhatFollowed": func(t *testing.T, r *rig) {
		exchanged(t, r, "one", "two", "three")
		before, _ := r.history(t, sessions.HistoryLimit{})
		r.enter(t, anew("e", "TWO", 3), sessions.Queued)
		r.enter(t, anew("e", "TWO", 3), sessions.Duplicate)
		h, seen := r.history(t, sessions.HistoryLimit{})
		same(t, "History before the turn", seen, []string{"one", "on one"})
		if h.Erasures == before.Erasures || h.Omitted != 0 {
			t.Errorf("History = %+v, want another count of erasures and nothing omitted", h)
		}
		answered(t, r, "on TWO")
		h, seen = r.history(t, sessions.HistoryLimit{})
		same(t, "History", seen, []string{"one", "on one", "TWO", "on TWO"})
		if h.Replaced != 0 || h.Omitted != 0 {
			t.Errorf("History counts %d replaced and %d omitted before its first message, want none", h.Replaced, h.Omitted)
		}
		same(t, "transcript", r.transcript(t, "x:1"), []string{
			"user: one", "assistant: on one", "user: two", "assistant: on two", "user: three", "assistant: on three",
			"user: " + replacedNote, "user: TWO", "assistant: on TWO",
		})
		all, err := r.Messages(t.Context(), key("x:1"), 6, 1)
		must(t, err)
		if note := all[0]; note.Replaces != 4 || !note.Synthetic || note.Sender != "42" {
			t.Errorf("the note is %+v, want one of alice about 4 messages", note)
		}
		list, err := r.Replacements(t.Context(), key("x:1"), 1)
		must(t, err)
		same(t, "Replacements", list, []sessions.Replacement{{First: 3, By: 7}})
		for seq, want := range []int64{0, 0, 0, 7, 7, 7, 7, 0, 0} {
			if got := sessions.ReplacedBy(list, int64(seq)); got != want {
				t.Errorf("message %d was replaced by %d, want %d", seq, got, want)
			}
		}
		c, err := r.Conversation(t.Context(), key("x:1"))
		must(t, err)
		if c.Messages != 9 {
			t.Errorf("the conversation has %d messages, want all 9", c.Messages)
		}
	},
	"Replace/FitsTheLimit": func(t *testing.T, r *rig) {
		exchanged(t, r, "one", "two", "three")
		r.enter(t, anew("e", "TWO", 3), sessions.Queued)
		answered(t, r, "on TWO")
		for _, test := range []struct {
			limit             sessions.HistoryLimit
			want              []string
			omitted, replaced int
		}{
			{sessions.HistoryLimit{Messages: 4}, []string{"one", "on one", "TWO", "on TWO"}, 0, 0},
			{sessions.HistoryLimit{Messages: 3}, []string{"on one", "TWO", "on TWO"}, 1, 0},
			{sessions.HistoryLimit{Messages: 2}, []string{"TWO", "on TWO"}, 2, 5},
			{sessions.HistoryLimit{Messages: 1}, []string{"on TWO"}, 8, 0}, // nobody read that some of them were replaced
			{sessions.HistoryLimit{Bytes: 9}, []string{"TWO", "on TWO"}, 2, 5},
		} {
			h, seen := r.history(t, test.limit)
			same(t, "History", seen, test.want)
			if h.Omitted != test.omitted || h.Replaced != test.replaced {
				t.Errorf("History(%+v) omits %d and replaced %d, want %d and %d", test.limit, h.Omitted, h.Replaced, test.omitted, test.replaced)
			}
		}
	},
	"Replace/OfAReplacement": func(t *testing.T, r *rig) {
		exchanged(t, r, "one", "two")
		r.enter(t, anew("e1", "Two", 3), sessions.Queued)
		answered(t, r, "on Two")
		r.enter(t, anew("e2", "TWO", 6), sessions.Queued) // 5 is the note
		answered(t, r, "on TWO")
		_, seen := r.history(t, sessions.HistoryLimit{})
		same(t, "History", seen, []string{"one", "on one", "TWO", "on TWO"})
		r.enter(t, anew("e3", "ONE", 1), sessions.Queued)
		_, seen = r.history(t, sessions.HistoryLimit{})
		same(t, "History", seen, nil)
		answered(t, r, "on ONE")
		h, seen := r.history(t, sessions.HistoryLimit{})
		same(t, "History", seen, []string{"ONE", "on ONE"})
		if h.Replaced != 11 || h.Omitted != 0 {
			t.Errorf("History counts %d replaced and %d omitted, want 11 and 0", h.Replaced, h.Omitted)
		}
		list, err := r.Replacements(t.Context(), key("x:1"), 1)
		must(t, err)
		if by := sessions.ReplacedBy(list, 3); by != 5 {
			t.Errorf("message 3 was replaced by %d, want 5, the first note about it", by)
		}
	},
	"Replace/Refused": func(t *testing.T, r *rig) {
		exchanged(t, r, "one", "two")
		refused := func(e sessions.Entry, later bool, says string) {
			t.Helper()
			a, err := r.Accept(t.Context(), e)
			var no *sessions.ReplaceError
			if !errors.As(err, &no) || no.Later != later || !strings.Contains(no.Why, says) {
				t.Errorf("Accept(%s, replaces %d) = %+v, %v, want a refusal with %q", e.Inbound.ID, e.Replaces, a, err, says)
			}
		}
		refused(anew("a", "x", 5), false, "no message 5")
		refused(anew("b", "x", -1), false, "no message -1")
		refused(anew("c", "x", 2), false, "not one of yours")
		other := anew("d", "x", 1)
		other.Inbound.Sender = channels.Person{IDs: []string{"7"}, Name: "bob"}
		refused(other, false, "not one of yours")
		elsewhere := anew("e", "x", 1)
		elsewhere.Inbound.Key = key("x:2")
		refused(elsewhere, false, "no message 1")
		r.accept(t, "x:1", "f", "waits")
		refused(anew("g", "x", 3), true, "not answered yet")
		answered(t, r, "it waited")
		r.enter(t, anew("h", "TWO", 3), sessions.Queued)
		answered(t, r, "on TWO")
		refused(anew("i", "x", 3), false, "it was replaced")
		refused(anew("j", "x", 5), false, "it was replaced")  // what came after it, too
		refused(anew("k", "x", 7), false, "not one of yours") // the note
		h, _ := r.history(t, sessions.HistoryLimit{})
		must(t, r.AddSummary(t.Context(), key("x:1"), sessions.Summary{Text: "s", Generation: h.Generation, CoversSeq: 2, Erasures: h.Erasures}))
		refused(anew("l", "x", 1), false, "part of a summary")
		r.enter(t, control("x:1", "m", sessions.ControlNew), sessions.Done)
		refused(anew("n", "x", 8), false, "an earlier part")
		if _, err := r.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", "o", "x"), Answered: true, Replaces: 1}); err == nil {
			t.Error("an answered entry may replace a message")
		}
		same(t, "refused messages", len(r.transcript(t, "x:1")), 9)
		must(t, r.Check(t.Context())) // a refusal is no failure of the store
	},
	// A summary that was begun before repeats what was replaced, so it is refused.
	"Replace/RefusesASummaryOfBefore": func(t *testing.T, r *rig) {
		exchanged(t, r, "one", "two")
		h, _ := r.history(t, sessions.HistoryLimit{})
		r.enter(t, anew("e", "TWO", 3), sessions.Queued)
		sum := sessions.Summary{Text: "one and two", Generation: h.Generation, CoversSeq: 4, Erasures: h.Erasures}
		is(t, "AddSummary", r.AddSummary(t.Context(), key("x:1"), sum), sessions.ErrConflict)
		answered(t, r, "on TWO")
		h, _ = r.history(t, sessions.HistoryLimit{})
		sum = sessions.Summary{Text: "one", Generation: h.Generation, CoversSeq: 2, Erasures: h.Erasures}
		must(t, r.AddSummary(t.Context(), key("x:1"), sum))
		h, seen := r.history(t, sessions.HistoryLimit{})
		same(t, "History", seen, []string{"TWO", "on TWO"})
		if h.Omitted != 0 || h.Replaced != 3 {
			t.Errorf("History omits %d and replaced %d, want 0 and 3", h.Omitted, h.Replaced)
		}
	},
	"Replace/StaysWithAStop": func(t *testing.T, r *rig) {
		exchanged(t, r, "one", "two")
		r.enter(t, anew("e", "TWO", 3), sessions.Queued)
		r.enter(t, control("x:1", "s", sessions.ControlStop), sessions.Done)
		_, seen := r.history(t, sessions.HistoryLimit{})
		same(t, "History", seen, []string{"one", "on one", "TWO"})
	},
	// The files of a replaced message stay with the new one. Those of a quote do not.
	"Replace/KeepsItsFiles": func(t *testing.T, r *rig) {
		m := in("x:1", "1", "what is this?")
		m.Attachments = []channels.Attachment{{Kind: "image", File: "x_1/a.png"}, {Kind: "image", File: "x_1/q.png", Quoted: true}, {Kind: "image", Missing: "too large"}}
		r.enter(t, sessions.Entry{Inbound: m}, sessions.Queued)
		answered(t, r, "a cat")
		r.enter(t, anew("2", "and the breed?", 1), sessions.Queued)
		h := r.claim(t)
		got := r.pending(t, h, 0, "and the breed?").Messages[0].Inbound.Attachments
		same(t, "files", got, m.Attachments[:1])
	},
	"Replace/InASearch": func(t *testing.T, r *rig) {
		exchanged(t, r, "one needle", "two needle")
		r.enter(t, anew("e", "TWO", 3), sessions.Queued)
		found, err := r.SearchAll(t.Context(), sessions.Search{Query: "needle", Limit: 9})
		must(t, err)
		by := map[int64]int64{}
		for _, f := range found {
			by[f.Message.Seq] = f.ReplacedBy
		}
		same(t, "SearchAll", by, map[int64]int64{1: 0, 2: 0, 3: 5, 4: 5})
		// The model searches its own conversation with this.
		hits, err := r.Lookup(t.Context(), key("x:1"), sessions.Lookup{Query: "needle", Limit: 9})
		must(t, err)
		if len(hits.Messages) != 2 || hits.All != 2 || hits.Messages[0].Seq > 2 {
			t.Errorf("Lookup = %+v, want messages 1 and 2", hits)
		}
	},
	"Replace/AfterAJoin": func(t *testing.T, r *rig) {
		exchanged(t, r, "one", "two")
		r.enter(t, anew("e", "TWO", 3), sessions.Queued)
		answered(t, r, "on TWO")
		r.say(t, "x:2", "f", user("before"))
		r.say(t, "x:3", "g", user("after"))
		must(t, r.Join(t.Context(), key("x:2"), key("x:1")))
		must(t, r.Join(t.Context(), key("x:1"), key("x:3")))
		h, err := r.History(t.Context(), key("x:3"), sessions.HistoryLimit{})
		must(t, err)
		same(t, "History", contents(h.Messages), []string{"before", "one", "on one", "TWO", "on TWO", "after"})
		list, err := r.Replacements(t.Context(), key("x:3"), 1)
		must(t, err)
		first := h.Messages[0].Seq
		same(t, "Replacements", list, []sessions.Replacement{{First: first + 3, By: first + 5}})
	},
	"Replace/AfterARestore": func(t *testing.T, r *rig) {
		exchanged(t, r, "one", "two")
		r.enter(t, anew("e", "TWO", 3), sessions.Queued)
		answered(t, r, "on TWO")
		var records []sessions.Record
		must(t, r.Dump(t.Context(), []channels.Key{key("x:1")}, func(rec sessions.Record) error {
			records = append(records, rec)
			return nil
		}))
		must(t, erased(r.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{key("x:1")}})))
		for i := range records {
			records[i].Inbox = nil // these ids stay taken
		}
		_, err := r.Restore(t.Context(), func() (rec sessions.Record, err error) {
			for len(records) > 0 {
				rec, records = records[0], records[1:]
				if rec.Conversation != nil || rec.Messages != nil {
					return rec, nil
				}
			}
			return rec, io.EOF
		})
		must(t, err)
		_, seen := r.history(t, sessions.HistoryLimit{})
		same(t, "History", seen, []string{"one", "on one", "TWO", "on TWO"})
		list, err := r.Replacements(t.Context(), key("x:1"), 1)
		must(t, err)
		same(t, "Replacements", list, []sessions.Replacement{{First: 3, By: 5}})
	},
	// The words of the note go with their author, and what was replaced stays so.
	"Replace/AfterAnErasure": func(t *testing.T, r *rig) {
		exchanged(t, r, "one", "two")
		r.enter(t, anew("e", "TWO", 3), sessions.Queued)
		answered(t, r, "on TWO")
		must(t, erased(r.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "42"}}})))
		_, seen := r.history(t, sessions.HistoryLimit{})
		same(t, "History", seen, []string{"[erased]", "on one", "[erased]", "on TWO"})
		for _, text := range r.transcript(t, "x:1") {
			if strings.Contains(text, "alice") {
				t.Errorf("the transcript has %q", text)
			}
		}
	},
}

func erased(_ sessions.Erased, err error) error { return err }

func contents(list []sessions.Message) (all []string) {
	for _, m := range list {
		all = append(all, m.Content)
	}
	return all
}

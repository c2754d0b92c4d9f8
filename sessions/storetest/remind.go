package storetest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// reminding is an occurrence of the note "r1" of "o", which the store has.
func reminding(t *testing.T, r *rig) sessions.Reminding {
	t.Helper()
	must(t, r.ChangeNotes(t.Context(), "k", "o", putNotes([]sessions.Note{{Name: "r1", Data: raw(`1`), Due: noon}})))
	notes, err := r.Notes(t.Context(), sessions.NoteFilter{Kind: "k", Owner: "o"})
	must(t, err)
	return sessions.Reminding{
		Note: notes[0], Key: key("x:1"),
		Occurrence: sessions.Occurrence{Job: "o/r1", Due: noon, Outcome: "ran"},
		Replies:    []sessions.Reply{{Label: sessions.Label{Kind: channels.KindJob, Job: "o/r1"}, Text: "call Ann"}},
	}
}

// What was read by several is delivered once, and the note moves with it.
func notesRemindOnce(t *testing.T, r *rig) {
	ctx := t.Context()
	m := reminding(t, r)
	m.Append = []sessions.Message{{Role: sessions.RoleUser, Content: "[r1] call Ann", Synthetic: true}}
	next := m.Note
	next.Due = noon.Add(time.Hour)
	m.Next = &next
	errs := make([]error, 4)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = r.Remind(ctx, m) })
	}
	all.Wait()
	done := 0
	for _, err := range errs {
		if err == nil {
			done++
		} else if !errors.Is(err, sessions.ErrConflict) {
			t.Errorf("Remind: %v, want a conflict", err)
		}
	}
	queued, err := r.Feed(ctx, m.Key, 0, 10)
	must(t, err)
	if done != 1 || len(queued) != 1 || queued[0].Text != "call Ann" {
		t.Errorf("%d of 4 succeeded and %d deliveries are there, want one each: %+v", done, len(queued), queued)
	}
	h, err := r.History(ctx, m.Key, sessions.HistoryLimit{})
	must(t, err)
	if len(h.Messages) != 1 || h.Messages[0].Content != "[r1] call Ann" {
		t.Errorf("the transcript has %+v, want what was delivered, once", h.Messages)
	}
	list, err := r.Occurrences(ctx, "o/r1", 10)
	must(t, err)
	if len(list) != 1 || list[0].Outcome != "ran" || !list[0].Due.Equal(noon) {
		t.Errorf("Occurrences = %+v", list)
	}

	changed := next // by its owner, in the same moment
	changed.Data = raw(`2`)
	must(t, r.AddNotes(ctx, changed))
	m.Note = next
	m.Next = nil
	is(t, "Remind of a note that has changed", r.Remind(ctx, m), sessions.ErrConflict)
	m.Note = changed
	must(t, r.Remind(ctx, m))
	same(t, "notes after the last", noteNames(t, r, sessions.NoteFilter{Kind: "k", Owner: "o"}), nil)
	is(t, "Remind of a note that is gone", r.Remind(ctx, m), sessions.ErrConflict)
}

// A prompt waits in the inbox, and its turn has the occurrence.
func notesRemindOfAPrompt(t *testing.T, r *rig) {
	m := reminding(t, r)
	prompt := in("x:1", "rm:o/r1:1", "the news")
	m.Message = &prompt
	m.Replies = nil
	m.Occurrence.Outcome = "fired"
	must(t, r.Remind(t.Context(), m))
	h := r.claim(t)
	p := r.pending(t, h, 0, "the news")
	if got := p.Messages[0]; got.Job != "o/r1" || !got.JobDue.Equal(noon) || got.Source != sessions.SourceHeartbeat {
		t.Errorf("Pending = %+v", got)
	}
}

// Several that came due are told in one message: all of them end, or none. If the message
// cannot be delivered, all of them have failed.
func notesRemindSeveral(t *testing.T, r *rig) {
	ctx := t.Context()
	m := reminding(t, r)
	second := sessions.Note{Name: "r2", Data: raw(`1`), Due: noon.Add(time.Minute)}
	must(t, r.ChangeNotes(ctx, "k", "o", putNotes([]sessions.Note{second})))
	notes, err := r.Notes(ctx, sessions.NoteFilter{Kind: "k", Owner: "o", Name: "r2"})
	must(t, err)
	stale := notes[0]
	stale.Due = noon
	also := sessions.CameDue{Note: stale, Occurrence: sessions.Occurrence{Job: "o/r2", Due: second.Due, Outcome: "ran"}}
	m.Replies[0].Job = "o/r1\no/r2"
	m.Also = []sessions.CameDue{also}
	is(t, "Remind of one that has changed", r.Remind(ctx, m), sessions.ErrConflict)
	same(t, "notes after a conflict", noteNames(t, r, sessions.NoteFilter{Kind: "k", Owner: "o"}), []string{"r11", "r21"})
	m.Also[0].Note = notes[0]
	must(t, r.Remind(ctx, m))
	same(t, "notes after both", noteNames(t, r, sessions.NoteFilter{Kind: "k", Owner: "o"}), nil)
	outcomes := func() (said []string) {
		list, err := r.Occurrences(ctx, "", 10)
		must(t, err)
		for _, o := range list {
			said = append(said, o.Job+" "+o.Outcome)
		}
		return said
	}
	same(t, "outcomes", outcomes(), []string{"o/r2 ran", "o/r1 ran"})
	h := r.claim(t)
	list, err := r.Unsent(ctx, h.Claim, 10)
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("Unsent has %d deliveries, want one", len(list))
	}
	must(t, r.MarkDead(ctx, h.Claim, list[0].ID, "gone"))
	same(t, "outcomes of what nobody read", outcomes(), []string{"o/r2 failed", "o/r1 failed"})
}

// With a person, what became of their jobs is erased, and what these have used. Configured
// jobs and those of others stay.
func notesEraseOutcomes(t *testing.T, r *rig) {
	ctx := t.Context()
	for _, owner := range []string{"x:42", "x:421"} {
		n := sessions.Note{Name: "r1", Data: raw(`1`), Due: noon}
		must(t, r.ChangeNotes(ctx, "k", owner, putNotes([]sessions.Note{n})))
		notes, err := r.Notes(ctx, sessions.NoteFilter{Kind: "k", Owner: owner})
		must(t, err)
		must(t, r.Remind(ctx, sessions.Reminding{
			Note: notes[0], Key: key("x:room"), Occurrence: sessions.Occurrence{Job: owner + "/r1", Due: noon, Outcome: "ran"},
			Replies: []sessions.Reply{{Label: sessions.Label{Kind: channels.KindJob, Job: owner + "/r1"}, Text: "call Ann"}},
		}))
		must(t, r.Count(ctx, sessions.Count{Kind: "tokens", Owner: "job/" + owner + "/r1", Day: "20260301", N: 5}))
	}
	must(t, r.Plan(ctx, "a/b", time.Time{}, noon))
	must(t, r.Skip(ctx, "a/b", noon, noon.Add(time.Hour), "skipped", ""))
	gone := sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "42"}}}
	notes, sums, err := r.Owned(ctx, gone)
	must(t, err)
	got, err := r.Erase(ctx, gone)
	must(t, err)
	if notes != 1 || sums != 1 || got.Notes != notes || got.Counts != sums {
		t.Errorf("Owned = %d, %d and Erase = %+v; want one outcome and one sum", notes, sums, got)
	}
	list, err := r.Occurrences(ctx, "", 10)
	must(t, err)
	var left []string
	for _, o := range list {
		left = append(left, o.Job)
	}
	same(t, "the outcomes that are left", left, []string{"a/b", "x:421/r1"})
	h := r.claim(t)
	unsent, err := r.Unsent(ctx, h.Claim, 10)
	must(t, err)
	for _, d := range unsent { // also of whom nothing is left
		must(t, r.MarkDead(ctx, h.Claim, d.ID, "gone"))
	}
	if list, err := r.Occurrences(ctx, "x:42/r1", 10); err != nil || len(list) > 0 {
		t.Errorf("after a delivery is dead: %+v, %v; want nothing of them", list, err)
	}
}

package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/sessions"
)

var noteTests = map[string]func(*testing.T, *rig){
	"Notes/AreChangedTogether":        notesChange,
	"Notes/OfSeveralOwners":           notesOfSeveralOwners,
	"Notes/OfSeveralOwnersRace":       notesOfSeveralOwnersRace,
	"Notes/AreAdded":                  notesAreAdded,
	"Notes/SayOnce":                   notesSayOnce,
	"Notes/OfAnOwnerAreLimited":       notesAreLimited,
	"Notes/ImpossibleOnesAreRefused":  notesAreRefused,
	"Notes/ALimitOfTheList":           notesAreListed,
	"Notes/Race":                      stickersRace,
	"Notes/RemindOnce":                notesRemindOnce,
	"Notes/RemindSeveral":             notesRemindSeveral,
	"Notes/EraseOutcomes":             notesEraseOutcomes,
	"Notes/RemindOfAPrompt":           notesRemindOfAPrompt,
	"Counts/ImpossibleOnesAreRefused": countsAreRefused,
	"Counts/AreSummedByDay":           countsAreSummed,
}

// putNotes is a change that puts notes and removes names.
func putNotes(put []sessions.Note, remove ...string) func([]sessions.Note) ([]sessions.Note, []string, error) {
	return func([]sessions.Note) ([]sessions.Note, []string, error) { return put, remove, nil }
}

// noteNames are those of an owner's notes, with their data.
func noteNames(t *testing.T, r *rig, f sessions.NoteFilter) (list []string) {
	t.Helper()
	notes, err := r.Notes(t.Context(), f)
	must(t, err)
	for _, n := range notes {
		list = append(list, n.Name+string(n.Data))
	}
	return list
}

func notesChange(t *testing.T, r *rig) {
	ctx := t.Context()
	of := sessions.NoteFilter{Kind: "k", Owner: "o"}
	must(t, r.ChangeNotes(ctx, "k", "o", putNotes([]sessions.Note{{Name: "b", Data: raw(`{ "x": "<1>" }`)}, {Kind: "k", Owner: "o", Name: "a"}, {Name: "c"}})))
	same(t, "notes", noteNames(t, r, of), []string{"a", `b{"x":"\u003c1\u003e"}`, "c"})
	mine := errors.New("mine")
	is(t, "ChangeNotes", r.ChangeNotes(ctx, "k", "o", func([]sessions.Note) ([]sessions.Note, []string, error) {
		return []sessions.Note{{Name: "d"}}, []string{"a"}, mine
	}), mine)
	before, err := r.Notes(ctx, of)
	must(t, err)
	must(t, r.ChangeNotes(ctx, "k", "o", func(have []sessions.Note) ([]sessions.Note, []string, error) {
		same(t, "what change gets", have, before)
		have[0].Data = raw(`7`)
		return have, []string{"none"}, nil
	}))
	same(t, "notes after a change", noteNames(t, r, of), []string{"a7", `b{"x":"\u003c1\u003e"}`, "c"})
	after, err := r.Notes(ctx, of)
	must(t, err)
	if !after[1].At.Equal(before[1].At) || after[0].At.Before(before[0].At) || after[0].At.IsZero() {
		t.Errorf("At was %v and is %v; one note has changed", before, after)
	}
	must(t, r.ChangeNotes(ctx, "k", "o", putNotes(nil, "a", "c", "c")))
	must(t, r.ChangeNotes(ctx, "k", "other", putNotes([]sessions.Note{{Name: "a"}})))
	same(t, "notes after two were removed", noteNames(t, r, of), []string{`b{"x":"\u003c1\u003e"}`})
}

// Notes of several owners and kinds change in one step, or none does.
func notesOfSeveralOwners(t *testing.T, r *rig) {
	ctx := t.Context()
	must(t, r.ChangeNotes(ctx, "k", "a", putNotes([]sessions.Note{{Name: "1", Data: raw(`1`)}, {Name: "2"}})))
	must(t, r.ChangeNotes(ctx, "k", "b", putNotes([]sessions.Note{{Name: "1"}})))
	must(t, r.ChangeNotes(ctx, "other", "a", putNotes([]sessions.Note{{Name: "3"}})))
	must(t, r.ChangeNotes(ctx, "third", "a", putNotes([]sessions.Note{{Name: "4"}})))
	names := func(list []sessions.Note) (all []string) {
		for _, n := range list {
			all = append(all, n.Kind+"/"+n.Owner+"/"+n.Name+string(n.Data))
		}
		return all
	}
	stored := func() []string {
		var all []string
		for _, kind := range []string{"k", "other", "third"} {
			list, err := r.Notes(ctx, sessions.NoteFilter{Kind: kind})
			must(t, err)
			all = append(all, names(list)...)
		}
		return all
	}
	before := stored()
	mine := errors.New("mine")
	for name, test := range map[string]struct {
		put, remove []sessions.Note
		err         error
	}{
		"an error":             {put: []sessions.Note{{Kind: "k", Owner: "c", Name: "1"}}, err: mine},
		"another kind":         {put: []sessions.Note{{Kind: "k", Owner: "c", Name: "1"}, {Kind: "third", Owner: "a", Name: "4"}}},
		"a removed other kind": {put: []sessions.Note{{Kind: "k", Owner: "c", Name: "1"}}, remove: []sessions.Note{{Kind: "third", Owner: "a", Name: "4"}}},
		"no owner":             {put: []sessions.Note{{Kind: "k", Owner: "c", Name: "1"}, {Kind: "k", Name: "1"}}},
		"twice the same":       {put: []sessions.Note{{Kind: "k", Owner: "c", Name: "1"}, {Kind: "k", Owner: "c", Name: "1"}}},
	} {
		err := r.ChangeAllNotes(ctx, []string{"k", "other"}, func([]sessions.Note) (put, remove []sessions.Note, err error) {
			return test.put, test.remove, test.err
		})
		if err == nil {
			t.Errorf("%s: there is no error", name)
		}
		same(t, "notes after "+name, stored(), before)
	}
	must(t, r.ChangeAllNotes(ctx, []string{"other", "k"}, func(have []sessions.Note) (put, remove []sessions.Note, err error) {
		same(t, "what change gets", names(have), []string{"other/a/3", "k/a/11", "k/a/2", "k/b/1"})
		put = []sessions.Note{{Kind: "k", Owner: "a", Name: "1", Data: raw(`5`)}, {Kind: "k", Owner: "c", Name: "6"}, {Kind: "other", Owner: "b", Name: "7"}}
		return put, []sessions.Note{have[0], have[2], {Kind: "k", Owner: "none", Name: "none"}}, nil
	}))
	same(t, "notes after the change", stored(), []string{"k/a/15", "k/b/1", "k/c/6", "other/b/7", "third/a/4"})
}

// Of many who take one note and leave one with an owner of their own, one succeeds.
func notesOfSeveralOwnersRace(t *testing.T, r *rig) {
	ctx := t.Context()
	must(t, r.ChangeNotes(ctx, "k", "pot", putNotes([]sessions.Note{{Name: "coin"}})))
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			err := r.ChangeAllNotes(ctx, []string{"k"}, func(have []sessions.Note) (put, remove []sessions.Note, err error) {
				coin := slices.IndexFunc(have, func(n sessions.Note) bool { return n.Name == "coin" })
				if have[coin].Owner != "pot" {
					return nil, nil, nil
				}
				return []sessions.Note{{Kind: "k", Owner: number("thief", i), Name: "coin"}}, have[coin : coin+1], nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := noteNames(t, r, sessions.NoteFilter{Kind: "k"}); len(got) != 1 {
		t.Errorf("there are %q, want one coin", got)
	}
}

func notesAreAdded(t *testing.T, r *rig) {
	ctx := t.Context()
	due := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	must(t, r.ChangeNotes(ctx, "k", "o", putNotes([]sessions.Note{{Name: "a", Data: raw(`1`)}, {Name: "b", Data: raw(`1`)}})))
	must(t, r.AddNotes(ctx, sessions.Note{Kind: "k", Owner: "o", Name: "b", Data: raw(`2`), Due: due}, sessions.Note{Kind: "k", Owner: "other", Name: "c"}))
	same(t, "notes after some were added", noteNames(t, r, sessions.NoteFilter{Kind: "k", Owner: "o"}), []string{"a1", "b2"})
	same(t, "those of another owner", noteNames(t, r, sessions.NoteFilter{Kind: "k", Owner: "other"}), []string{"c"})
	got, err := r.Notes(ctx, sessions.NoteFilter{Kind: "k", DueBefore: due.Add(time.Hour)})
	must(t, err)
	if len(got) != 1 || got[0].Name != "b" || !got[0].Due.Equal(due) || got[0].At.IsZero() {
		t.Errorf("the notes that are due are %v, want b", got)
	}
	if err := r.AddNotes(ctx, sessions.Note{Kind: "k", Owner: "o", Name: "d"}, sessions.Note{Kind: "K", Owner: "o", Name: "d"}); err == nil {
		t.Error("a note of an impossible kind was added")
	}
	same(t, "notes after a refusal", noteNames(t, r, sessions.NoteFilter{Kind: "k", Owner: "o"}), []string{"a1", "b2"})
}

func notesSayOnce(t *testing.T, r *rig) {
	once := &sessions.Note{Kind: "k", Owner: "o", Name: "20261129"}
	for i, said := range []error{nil, sessions.ErrSaid} {
		seq := r.accept(t, "x:1", number("", i), "hello")
		h := r.claim(t)
		turn := sessions.Turn{ID: number("t", i), Answers: []sessions.Answered{{Seq: seq}}, Messages: []sessions.Message{user("hello")}, Once: once}
		err := r.CommitTurn(t.Context(), h.Claim, turn)
		if !errors.Is(err, said) {
			t.Fatalf("CommitTurn %d = %v, want %v", i, err, said)
		}
		if said != nil {
			turn.Once = nil
			must(t, r.CommitTurn(t.Context(), h.Claim, turn))
		}
		h.release(nil)
	}
	same(t, "notes", noteNames(t, r, sessions.NoteFilter{Kind: "k", Owner: "o"}), []string{"20261129"})
	same(t, "transcript", r.transcript(t, "x:1"), []string{"user: hello", "user: hello"})
}

func notesAreLimited(t *testing.T, r *rig) {
	ctx := t.Context()
	var all []sessions.Note
	for i := range sessions.MaxNotes {
		all = append(all, sessions.Note{Name: number("n", i)})
	}
	must(t, r.ChangeNotes(ctx, "k", "o", putNotes(all)))
	more := []sessions.Note{{Name: "more"}}
	is(t, "ChangeNotes beyond the limit", r.ChangeNotes(ctx, "k", "o", putNotes(more)), sessions.ErrTooMany)
	must(t, r.ChangeNotes(ctx, "k", "o", putNotes(more, "n0")))
	must(t, r.ChangeNotes(ctx, "k", "other", putNotes(more)))
	is(t, "tokens beyond their own limit", r.ChangeNotes(ctx, "token", "o", putNotes(all[:51])), sessions.ErrTooMany)
	same(t, "tokens", noteNames(t, r, sessions.NoteFilter{Kind: "token", Owner: "o"}), nil)
}

func notesAreListed(t *testing.T, r *rig) {
	ctx := t.Context()
	for i, owner := range []string{"o1", "o2", "o3"} {
		must(t, r.ChangeNotes(ctx, "k", owner, putNotes([]sessions.Note{{Name: owner, Due: noon.Add(-time.Duration(i) * time.Hour)}, {Name: "never"}})))
	}
	must(t, r.ChangeNotes(ctx, "other", "o1", putNotes([]sessions.Note{{Name: "o", Due: noon}})))
	for _, test := range []struct {
		f    sessions.NoteFilter
		want []string
	}{
		{sessions.NoteFilter{Kind: "k", Limit: 3}, []string{"never", "o1", "never"}},
		{sessions.NoteFilter{Owner: "o1"}, []string{"never", "o1", "o"}},
		{sessions.NoteFilter{Kind: "k", Owner: "o2", Name: "o2"}, []string{"o2"}},
		{sessions.NoteFilter{Kind: "k", DueBefore: noon.Add(1), Limit: 2}, []string{"o3", "o2"}},
		{sessions.NoteFilter{Kind: "k", DueBefore: noon}, []string{"o3", "o2"}},
		{sessions.NoteFilter{Kind: "none"}, nil},
	} {
		same(t, fmt.Sprintf("Notes(%+v)", test.f), noteNames(t, r, test.f), test.want)
	}
	if _, err := r.Notes(ctx, sessions.NoteFilter{Name: "o1"}); err == nil {
		t.Error("Notes of no kind and no owner were listed")
	}
}

func notesAreRefused(t *testing.T, r *rig) {
	long := strings.Repeat("x", sessions.MaxNoteName+1)
	for _, test := range []struct {
		kind, owner string
		n           sessions.Note
	}{
		{"", "o", sessions.Note{Name: "n"}},
		{"Big", "o", sessions.Note{Name: "n"}},
		{strings.Repeat("k", 33), "o", sessions.Note{Name: "n"}},
		{"k", "", sessions.Note{Name: "n"}},
		{"k", long, sessions.Note{Name: "n"}},
		{"k", "o", sessions.Note{}},
		{"k", "o", sessions.Note{Name: long}},
		{"k", "o", sessions.Note{Name: "a\x00b"}},
		{"k", "o", sessions.Note{Name: "a\xff"}},
		{"k", "o", sessions.Note{Kind: "l", Name: "n"}},
		{"k", "o", sessions.Note{Owner: "p", Name: "n"}},
		{"k", "o", sessions.Note{Name: "n", Data: raw(`{`)}},
		{"k", "o", sessions.Note{Name: "n", Data: json.RawMessage(`"` + strings.Repeat("x", sessions.MaxNoteData) + `"`)}},
	} {
		if err := r.ChangeNotes(t.Context(), test.kind, test.owner, putNotes([]sessions.Note{test.n})); err == nil {
			t.Errorf("ChangeNotes(%.40q, %.40q) took %.100v", test.kind, test.owner, test.n)
		}
	}
	if err := r.ChangeNotes(t.Context(), "k", "o", putNotes([]sessions.Note{{Name: "n"}, {Name: "n"}})); err == nil {
		t.Error("a note was changed twice")
	}
	same(t, "notes", noteNames(t, r, sessions.NoteFilter{Owner: "o"}), nil)
}

func countsAreRefused(t *testing.T, r *rig) {
	good := sessions.Count{Kind: "k", Owner: "o", Day: "20260501", N: 1}
	for _, c := range []sessions.Count{
		{Owner: "o", Day: "20260501", N: 1},
		{Kind: "k", Day: "20260501", N: 1},
		{Kind: "k", Owner: "o", N: 1},
		{Kind: "k", Owner: "o", Day: "20260532", N: 1},
		{Kind: "k", Owner: "o", Day: "2026-05-1", N: 1},
		{Kind: "k", Owner: "o", Day: "20260501", N: sessions.MaxCount + 1},
	} {
		if err := r.Count(t.Context(), good, c); err == nil {
			t.Errorf("Count took %+v", c)
		}
	}
	for _, days := range [][2]string{{"20260502", "20260501"}, {"", "20260501"}, {"20260501", "x"}} {
		if _, err := r.Sum(t.Context(), "k", "o", days[0], days[1]); err == nil {
			t.Errorf("Sum took the days %q", days)
		}
	}
	if _, err := r.Sums(t.Context(), sessions.SumFilter{}); err == nil {
		t.Error("Sums took no kind and no owner")
	}
	list, err := r.Sums(t.Context(), sessions.SumFilter{Kind: "k"})
	must(t, err)
	same(t, "Sums", list, nil)
}

func countsAreSummed(t *testing.T, r *rig) {
	ctx := t.Context()
	day := func(owner, day string, n int64) sessions.Count {
		return sessions.Count{Kind: "k", Owner: owner, Day: day, N: n}
	}
	must(t, r.Count(ctx, day("a", "20260501", 1), day("b", "20260501", 10), day("a", "20260502", 2)))
	must(t, r.Count(ctx, day("a", "20260503", 4), day("a", "20260501", 8)))
	must(t, r.Count(ctx))
	for days, want := range map[[2]string]int64{{"20260501", "20260503"}: 15, {"20260502", "20260503"}: 6, {"20260501", "20260501"}: 9, {"20270101", "20270102"}: 0} {
		n, err := r.Sum(ctx, "k", "a", days[0], days[1])
		must(t, err)
		same(t, fmt.Sprint("the sum of ", days), n, want)
	}
	list, err := r.Sums(ctx, sessions.SumFilter{Kind: "k", From: "20260501", To: "20260502"})
	must(t, err)
	same(t, "Sums", list, []sessions.Count{day("a", "20260501", 9), day("a", "20260502", 2), day("b", "20260501", 10)})
}

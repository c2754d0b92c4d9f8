package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/sessions"
)

// swept: a note goes when its life is over, and old sums go to the first of their month.
func swept(t *testing.T, r *rig, c *clock) {
	ctx := t.Context()
	const hour = time.Hour
	must(t, r.ChangeNotes(ctx, "token", "o", putNotes([]sessions.Note{{Name: "ends", Due: noon.Add(hour)}, {Name: "stays"}})))
	must(t, r.ChangeNotes(ctx, "login", "o", putNotes([]sessions.Note{{Name: "undated"}})))
	must(t, r.ChangeNotes(ctx, stickerKind, "o", putNotes([]sessions.Note{{Name: "lent", Due: noon}, {Name: "kept"}})))
	for _, d := range []string{"20260315", "20260401", "20260430", "20260501"} {
		must(t, r.Count(ctx, sessions.Count{Kind: "k", Owner: "o", Day: d, N: 1}))
	}
	left := func(at time.Time, removed int, notes string, sums ...string) {
		t.Helper()
		c.set(at)
		n, err := r.Sweep(ctx)
		must(t, err)
		same(t, "Sweep", n, removed)
		same(t, "notes", strings.Join(noteNames(t, r, sessions.NoteFilter{Owner: "o"}), " "), notes)
		list, err := r.Sums(ctx, sessions.SumFilter{Kind: "k"})
		must(t, err)
		var got []string
		for _, s := range list {
			got = append(got, fmt.Sprint(s.Day, " ", s.N))
		}
		same(t, "sums", got, sums)
	}
	left(noon.Add(hour), 0, "undated kept lent ends stays", "20260315 1", "20260401 1", "20260430 1", "20260501 1")
	left(noon.AddDate(0, 0, 31), 2, "kept lent stays", "20260301 1", "20260401 1", "20260430 1", "20260501 1")
	left(noon.AddDate(0, 0, 91), 1, "kept stays", "20260301 1", "20260401 2", "20260501 1")
	must(t, r.Count(ctx, sessions.Count{Kind: "k", Owner: "o", Day: "20260430", N: 5})) // it came late
	left(noon.AddDate(0, 0, 92), 0, "kept stays", "20260301 1", "20260401 7", "20260501 1")
	left(noon.AddDate(6, 0, 0), 0, "kept stays")
}

// sweptOutcomes: what became of a job is known for a year.
func sweptOutcomes(t *testing.T, r *rig, c *clock) {
	ctx := t.Context()
	year := noon.AddDate(1, 0, 1)
	for _, due := range []time.Time{noon, noon.Add(time.Hour), year} {
		was, _, err := r.NextDue(ctx, "j")
		must(t, err)
		must(t, r.Plan(ctx, "j", was, due))
		c.set(due)
		must(t, r.Skip(ctx, "j", due, due.Add(time.Minute), "missed", due.Format(time.DateTime)))
	}
	c.set(year)
	_, err := r.Sweep(ctx)
	must(t, err)
	list, err := r.Occurrences(ctx, "j", 10)
	must(t, err)
	var left []string
	for _, o := range list {
		left = append(left, o.Why)
	}
	same(t, "after a year and a day", left, []string{year.Format(time.DateTime), noon.Add(time.Hour).Format(time.DateTime)})
}

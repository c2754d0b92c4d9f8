package rowstest

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/rows"
)

func note(kind, owner, name string, due time.Time) rows.Record {
	return rows.Record{Note: &sessions.Note{Kind: kind, Owner: owner, Name: name, Due: due, Data: json.RawMessage(`"` + name + `"`), At: noon}}
}

// notesByExample: notes are found by each part of their name, and by their due time.
func notesByExample(t *testing.T, b rows.Backend) {
	hour := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
	put(t, b, rows.Changes{Records: []rows.Record{
		note("b", "y", "1", hour(2)), note("a", "x", "B", hour(3)), note("a", "x", "a", time.Time{}), note("a", "y", "1", hour(1)), note("a", "é", "1", hour(1)),
	}})
	find := func(like sessions.Note) []string {
		return list(t, b.Records(t.Context(), rows.Record{Note: &like}), func(r rows.Record) string { return r.Note.Kind + r.Note.Owner + r.Note.Name })
	}
	same(t, "all", find(sessions.Note{}), []string{"axB", "axa", "ay1", "aé1", "by1"})
	same(t, "of a kind", find(sessions.Note{Kind: "a"}), []string{"axB", "axa", "ay1", "aé1"})
	same(t, "of an owner", find(sessions.Note{Owner: "y"}), []string{"ay1", "by1"})
	same(t, "of a kind and an owner", find(sessions.Note{Kind: "a", Owner: "x"}), []string{"axB", "axa"})
	same(t, "one", find(sessions.Note{Kind: "a", Owner: "x", Name: "a"}), []string{"axa"})
	same(t, "none", find(sessions.Note{Kind: "a", Owner: "z"}), []string(nil))
	same(t, "due", find(sessions.Note{Kind: "a", Due: hour(3)}), []string{"ay1", "aé1"})
	same(t, "due later", find(sessions.Note{Kind: "a", Due: hour(4)}), []string{"ay1", "aé1", "axB"})
	same(t, "due of all kinds", find(sessions.Note{Due: hour(3)}), []string{"ay1", "aé1", "by1"})
	moved := note("a", "x", "B", time.Time{})
	put(t, b, rows.Changes{Removed: []rows.Record{note("a", "y", "1", noon)}, Records: []rows.Record{moved}})
	same(t, "due after changes", find(sessions.Note{Due: hour(4)}), []string{"aé1", "by1"})
	same(t, "a note", list(t, b.Records(t.Context(), rows.Record{Note: &sessions.Note{Kind: "a", Owner: "x", Name: "B"}}), func(r rows.Record) sessions.Note { return *r.Note }), []sessions.Note{*moved.Note})
	const many = 1500 // more than a page
	var all []rows.Record
	for i := range many {
		all = append(all, note("many", "x", fmt.Sprintf("%04d", i), hour(many-i)))
	}
	put(t, b, rows.Changes{Records: all})
	for _, like := range []sessions.Note{{Kind: "many"}, {Kind: "many", Due: hour(many + 1)}} {
		got := find(like)
		first, last := "manyx0000", "manyx1499"
		if !like.Due.IsZero() {
			first, last = last, first
		}
		if len(got) != many || got[0] != first || got[many-1] != last {
			t.Errorf("Records(%+v) = %d notes, from %q", like, len(got), got[:min(2, len(got))])
		}
	}
}

// sums lists all sums.
func sums(t *testing.T, b rows.Backend, like sessions.Count) []string {
	t.Helper()
	return list(t, b.Records(t.Context(), rows.Record{Count: &like}), func(r rows.Record) string {
		return fmt.Sprint(r.Count.Kind, " ", r.Count.Owner, " ", r.Count.Day, " ", r.Count.N)
	})
}

// counts: additions are summed, and a sum that is removed or becomes zero is gone.
func counts(t *testing.T, b rows.Backend) {
	add := func(list ...sessions.Count) { put(t, b, rows.Changes{Add: list}) }
	add(sessions.Count{Kind: "a", Owner: "x", Day: "20260501", N: 2}, sessions.Count{Kind: "a", Owner: "x", Day: "20260501", N: 3}, sessions.Count{Kind: "b", Owner: "x", Day: "20260501", N: 1})
	add(sessions.Count{Kind: "a", Owner: "x", Day: "20260502", N: 7}, sessions.Count{Kind: "a", Owner: "y", Day: "20260501", N: -4})
	same(t, "all", sums(t, b, sessions.Count{}), []string{"a x 20260501 5", "a x 20260502 7", "a y 20260501 -4", "b x 20260501 1"})
	same(t, "of an owner", sums(t, b, sessions.Count{Owner: "x"}), []string{"a x 20260501 5", "a x 20260502 7", "b x 20260501 1"})
	same(t, "of a kind and day", sums(t, b, sessions.Count{Kind: "a", Day: "20260501"}), []string{"a x 20260501 5", "a y 20260501 -4"})
	add(sessions.Count{Kind: "a", Owner: "x", Day: "20260501", N: -5}, sessions.Count{Kind: "c", Owner: "x", Day: "20260501", N: 0})
	same(t, "without the zero", sums(t, b, sessions.Count{}), []string{"a x 20260502 7", "a y 20260501 -4", "b x 20260501 1"})
	gone := rows.Record{Count: &sessions.Count{Kind: "a", Owner: "x", Day: "20260502"}}
	put(t, b, rows.Changes{Removed: []rows.Record{gone}, Add: []sessions.Count{{Kind: "a", Owner: "x", Day: "20260502", N: 1}}})
	same(t, "a sum that began anew", sums(t, b, sessions.Count{Kind: "a", Owner: "x"}), []string{"a x 20260502 1"})
}

// notesAreLocked: updates that read and change the notes of an owner do not overwrite each
// other, and counts that all of them add to lose nothing.
func notesAreLocked(t *testing.T, b rows.Backend) {
	const updaters, each = 6, 15
	var all sync.WaitGroup
	for i := range updaters {
		owner := fmt.Sprint("o", i%2)
		like := sessions.Note{Kind: "a", Owner: owner}
		if i == 5 {
			like = sessions.Note{} // reads all, and so waits for all
		}
		all.Go(func() {
			for range each {
				err := b.Update(context.WithoutCancel(t.Context()), nil, func(r rows.Reader) (rows.Changes, error) {
					n := 0
					for rec, err := range r.Records(t.Context(), rows.Record{Note: &like}) {
						if err != nil {
							return rows.Changes{}, err
						}
						if rec.Note.Owner == owner {
							n, _ = strconv.Atoi(string(rec.Note.Data))
						}
					}
					next := note("a", owner, "n", time.Time{})
					next.Note.Data = json.RawMessage(strconv.Itoa(n + 1))
					return rows.Changes{Records: []rows.Record{next}, Add: []sessions.Count{{Kind: "a", Owner: "all", Day: "20260501", N: 1}}}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got := list(t, b.Records(t.Context(), rows.Record{Note: &sessions.Note{}}), func(r rows.Record) string { return r.Note.Owner + " " + string(r.Note.Data) })
	same(t, "the notes", got, []string{fmt.Sprint("o0 ", updaters/2*each), fmt.Sprint("o1 ", updaters/2*each)})
	same(t, "the sum", sums(t, b, sessions.Count{}), []string{fmt.Sprint("a all 20260501 ", updaters*each)})
}

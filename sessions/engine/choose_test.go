package engine

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// TestChoose compares choose with a slow, simple implementation of its rule.
func TestChoose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Now()
		open := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *rows.In {
			r := &rows.In{Source: rapid.SampledFrom([]sessions.Source{sessions.SourceChat, sessions.SourceHeartbeat}).Draw(t, "source")}
			if rapid.IntRange(0, 3).Draw(t, "late") == 0 {
				r.Due = now.Add(time.Hour)
			}
			r.Turn = rapid.SampledFrom([]string{"", "", "", "a", "b"}).Draw(t, "turn")
			return r
		}), 1, 8).Draw(t, "open")
		for i, r := range open {
			r.Seq = int64(i + 1)
		}
		most := rapid.IntRange(0, 4).Draw(t, "most")
		want, turn, more := rule(open, now, most)
		chosen, gotTurn, gotMore := choose(open, now, most)
		if got := seqs(chosen); !slices.Equal(got, want) || gotTurn != turn || gotMore != more {
			t.Errorf("choose(%d) = %v of turn %q and %d more, want %v of %q and %d", most, got, gotTurn, gotMore, want, turn, more)
		}
	})
}

func seqs(list []*rows.In) (all []int64) {
	for _, r := range list {
		all = append(all, r.Seq)
	}
	return all
}

// rule: messages of people up to the first late one, and all heartbeats that are
// not late, are due. A turn none of whose messages is late comes first, whole;
// else the first ones that are due in order, a heartbeat alone.
func rule(open []*rows.In, now time.Time, most int) (chosen []int64, turn string, more int) {
	var due []*rows.In
	held := false
	for _, r := range open {
		late, job := r.Due.After(now), r.Source == sessions.SourceHeartbeat
		held = held || late && !job
		if !late && (job || !held) {
			due = append(due, r)
		}
	}
	of := func(turn string) func(*rows.In) bool { return func(r *rows.In) bool { return r.Turn == turn } }
	for _, r := range open {
		late := slices.ContainsFunc(open, func(o *rows.In) bool { return o.Turn == r.Turn && o.Due.After(now) })
		turn = r.Turn
		if turn == "" || late {
			turn = ""
			continue
		}
		whole := slices.DeleteFunc(slices.Clone(open), func(r *rows.In) bool { return !of(turn)(r) })
		others := slices.DeleteFunc(slices.Clone(due), of(turn))
		return seqs(whole), turn, len(others)
	}
	n := 0
	for n < len(due) && (n == 0 || due[n].Source != sessions.SourceHeartbeat && due[0].Source != sessions.SourceHeartbeat && (most == 0 || n < most)) {
		n++
	}
	return seqs(due[:n]), "", len(due) - n
}

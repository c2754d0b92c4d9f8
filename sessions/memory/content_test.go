package memory_test

import (
	ordered "cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/memory"
	"dragoman/sessions/rows"
)

// queued are changes of these rows, each with a mark that tells it from others.
func queued(mark string, seqs ...int64) (ch memory.ChatChange) {
	for _, n := range seqs {
		in := rows.In{Seq: n, Inbound: channels.Inbound{Text: mark}}
		ch.In = append(ch.In, in)
		ch.Out = append(ch.Out, sessions.OutboxRecord{Delivery: sessions.Delivery{Seq: n, Text: mark}})
	}
	return ch
}

// Many changed rows at once come to what they come to one after the other: in
// the order of their seqs, each as it was last.
func TestManyRowsAtOnce(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		before := make([]int64, dice.IntN(30))
		for i, n := range dice.Perm(len(before)) {
			before[i] = int64(n)
		}
		changed := make([]int64, 9+dice.IntN(30))
		for i := range changed {
			changed[i] = dice.Int64N(40)
		}
		want, got := applied(queued("old", before...)), applied(queued("old", before...))
		together := queued("", changed...)
		for i, n := range changed {
			mark := fmt.Sprint("new ", i)
			together.In[i].Inbound.Text, together.Out[i].Text = mark, mark
			one := queued(mark, n)
			want.Apply(&one)
		}
		got.Apply(&together)
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(channels.Key{})); diff != "" {
			t.Fatalf("round %d: one by one and all at once (-want +got):\n%s", round, diff)
		}
		if !slices.IsSortedFunc(got.In, func(a, b rows.In) int { return ordered.Compare(a.Seq, b.Seq) }) {
			t.Fatalf("round %d: the rows are not in order", round)
		}
	}
}

// applied is content after changes.
func applied(changes ...memory.ChatChange) (c memory.Content) {
	for i := range changes {
		c.Apply(&changes[i])
	}
	return c
}

// BenchmarkManyRows brings a change with so many rows into a document that has
// as many others, as when a chat with much in it got another name.
func BenchmarkManyRows(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint("rows=", n), func(b *testing.B) {
			var old, added []int64
			for i := range int64(n) {
				old, added = append(old, i), append(added, int64(n)+i)
			}
			first, second := queued("old", old...), queued("new", added...)
			for b.Loop() {
				applied(first, second)
			}
		})
	}
}

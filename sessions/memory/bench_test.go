package memory_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/memory"
)

// BenchmarkRestore takes in so many conversations with a generation each, and
// as many facts and occurrences. Its cost for each of them must not grow with
// their number.
func BenchmarkRestore(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				s := memory.New(memory.Options{})
				if _, err := s.Restore(b.Context(), manyRecords(n)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/conversation")
		})
	}
}

// manyRecords are n conversations, facts and occurrences.
func manyRecords(n int) func() (sessions.Record, error) {
	at, i := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), -1
	return func() (r sessions.Record, err error) {
		i++
		switch due := at.Add(time.Duration(i/3) * time.Minute); {
		case i == 3*n:
			return r, io.EOF
		case i%3 == 0:
			r.Conversation = &sessions.ConversationRecord{
				Key: channels.MustKey(fmt.Sprint("x:", i)), Created: at, Updated: due,
				Generations: []sessions.Generation{{ID: fmt.Sprintf("20260501_%03d", i+1), FirstSeq: 1, Began: at}},
			}
		case i%3 == 1:
			r.Fact = &sessions.FactRecord{Scope: "me", Fact: sessions.Fact{ID: int64(i), Text: fmt.Sprint("fact ", i), At: at}}
		default:
			r.Occurrence = &sessions.Occurrence{Job: "j", Due: due, Outcome: "ran", At: due}
		}
		return r, nil
	}
}

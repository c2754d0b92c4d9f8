package sqlite_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
)

// An erasure deletes the summary of a conversation that goes on. A turn that begins
// meanwhile has a summary or none, but never an empty history.
func TestHistoryDuringAnErasure(t *testing.T) {
	s, k := open(t), channels.MustKey("x:1")
	empty := errors.New("History is empty while a person is erased")
	done := make(chan struct{})
	found := make(chan error, 2)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer close(done)
	say := func(i int) {
		t.Helper()
		said := []sessions.Message{{Role: sessions.RoleUser, Content: "a", Sender: fmt.Sprint(i)}, {Role: sessions.RoleUser, Content: "b"}}
		_, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k, ID: fmt.Sprint(i)}, Answered: true, Append: said})
		if err != nil {
			t.Fatal(err)
		}
	}
	say(0)
	for range cap(found) {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				h, err := s.History(t.Context(), k, sessions.HistoryLimit{Messages: 2})
				if err == nil && h.FirstSeq == 0 {
					err = empty
				}
				if err != nil {
					found <- err
					return
				}
			}
		})
	}
	for i := range 8 {
		if i > 0 {
			say(i)
		}
		h, err := s.History(t.Context(), k, sessions.HistoryLimit{Messages: 2})
		if err == nil {
			err = s.AddSummary(t.Context(), k, sessions.Summary{Generation: h.Generation, CoversSeq: int64(2*i + 2), Text: "a and b", Erasures: h.Erasures})
		}
		if err == nil {
			_, err = s.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: fmt.Sprint(i)}}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-found:
		t.Fatal(err)
	default:
	}
}

package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/postgres"
)

// TestSpread: of nodes that have nothing to do, each gets its share of what comes
// in at one of them.
func TestSpread(t *testing.T) {
	url := database(t)
	worked := make(chan int)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var stores []*postgres.Store
	for i := range 3 {
		s := openAt(t, url, postgres.Options{})
		stores = append(stores, s)
		running.Go(func() {
			err := s.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
				p, err := s.Pending(ctx, c, 1)
				if err == nil && len(p.Messages) > 0 {
					err = answer(s, c, p.Messages[0].Seq)
				}
				if err == nil {
					worked <- i
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	const messages = 90
	share := [3]int{}
	for n := range messages {
		must(t, postgres.FindTakers(t.Context(), stores[0]))
		_, err := stores[0].Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: channels.MustKey(fmt.Sprint("x:", n)), ID: fmt.Sprint(n), Text: "hi"}})
		must(t, err)
		share[<-worked]++
	}
	if min(share[0], share[1], share[2]) < messages/9 {
		t.Errorf("of %d messages the nodes got %v", messages, share)
	}
}

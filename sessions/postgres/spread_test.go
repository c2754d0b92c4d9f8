package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"dragoman/channels"
	"dragoman/internal/testkit"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/postgres"
)

// TestSpread: a node keeps the messages that it accepts until it works on many more keys
// than the others, which then get their share.
func TestSpread(t *testing.T) {
	url := database(t)
	begun, finish := make(chan int), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var stores []*engine.Store
	for i := range 3 {
		s := openAt(t, url, postgres.Options{})
		stores = append(stores, s)
		running.Go(func() {
			err := s.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
				p, err := s.Pending(ctx, c, 1)
				if err == nil && len(p.Messages) > 0 {
					begun <- i
					<-finish
					err = answer(s, c, p.Messages[0].Seq)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	defer close(finish)
	testkit.Eventually(t, "all nodes", func() bool {
		list, err := peers(stores[0]).Nodes(t.Context())
		return err == nil && len(list) == len(stores)
	})
	const few, many = 10, 120
	share := [3]int{}
	for n := range many {
		must(t, postgres.RefreshPeers(t.Context(), stores[0]))
		_, err := stores[0].Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: channels.MustKey(fmt.Sprint("x:", n)), ID: fmt.Sprint(n), Text: "hi"}})
		must(t, err)
		share[<-begun]++
		if n == few && share[0] != n+1 {
			t.Errorf("of %d messages the nodes got %v, want all where they came in", n+1, share)
		}
	}
	if min(share[1], share[2]) < many/8 || share[0] < many/3 {
		t.Errorf("of %d messages the nodes got %v", many, share)
	}
}

// TestLeave: a node that leaves starts no more keys. When the handler of its last key
// returns, another node does the rest.
func TestLeave(t *testing.T) {
	url := database(t)
	a, b := openAt(t, url, postgres.Options{Roles: []string{"turns"}}), openAt(t, url, postgres.Options{Roles: []string{"turns"}})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	run := func(s *engine.Store, h sessions.Handler) {
		running.Go(func() {
			if err := s.Run(ctx, h); err != nil {
				t.Error(err)
			}
		})
	}
	accept := func(key, id string) {
		_, err := a.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: channels.MustKey(key), ID: id, Text: "hi"}})
		must(t, err)
	}
	begun, finish := make(chan string, 9), make(chan struct{})
	run(a, func(_ context.Context, c sessions.Claim) error {
		begun <- "a " + c.Key.String()
		<-finish
		return nil // with work left
	})
	accept("x:1", "1")
	if got := <-begun; got != "a x:1" {
		t.Fatalf("begun: %s", got)
	}
	done := make(chan string, 9)
	run(b, func(ctx context.Context, c sessions.Claim) error {
		p, err := b.Pending(ctx, c, 1)
		for err == nil && len(p.Messages) > 0 {
			if err = answer(b, c, p.Messages[0].Seq); err == nil {
				done <- c.Key.String()
				p, err = b.Pending(ctx, c, 1)
			}
		}
		return err
	})
	testkit.Eventually(t, "both nodes", func() bool {
		list, err := peers(a).Nodes(t.Context())
		return err == nil && len(list) == 2
	})
	must(t, peers(a).Leave(t.Context()))
	for i := range 9 {
		accept(fmt.Sprint("y:", i), fmt.Sprint("y", i))
		<-done
	}
	accept("x:1", "2")
	close(finish)
	for range 2 {
		if got := <-done; got != "x:1" {
			t.Errorf("the other node works on %s, want what the first one left", got)
		}
	}
	if len(begun) > 0 {
		t.Errorf("the node that left began with %s", <-begun)
	}
	list, err := peers(b).Nodes(t.Context())
	must(t, err)
	for _, n := range list {
		if leaving := slices.Equal(n.Roles, []string{sessions.Leaving}); leaving == n.Self {
			t.Errorf("Nodes = %+v", list)
		}
	}
}

package gateway_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions/postgres"
)

// Two nodes on one PostgreSQL take both yeses in the same moment, and the two who say one code:
// one of these is asked, both are connected, and one node alone ends the question.
func TestConnectAtOnceOnTwoNodes(t *testing.T) {
	url := freshDatabase(t)
	var nodes [2]*people.Connections
	for i := range nodes {
		s, err := postgres.Open(t.Context(), url, postgres.Options{TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		nodes[i] = people.NewConnections(people.NewDirectory(s, people.DirectoryOptions{}))
	}
	side := func(key string) people.Side {
		return people.Side{Identities: []string{key}, Name: key, Chat: channels.MustKey(key)}
	}
	first, others := side("telegram:42"), [2]people.Side{side("whatsapp:+1555"), side("whatsapp:+1666")}
	for range 20 {
		code, err := nodes[0].Offer(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		var took [2]error
		for i, node := range nodes {
			both.Go(func() { _, took[i] = node.Redeem(t.Context(), others[i], code) })
		}
		both.Wait()
		if (took[0] == nil) == (took[1] == nil) {
			t.Fatalf("two say one code: %v, %v; want that one of them is asked", took[0], took[1])
		}
		second := others[0]
		if took[0] != nil {
			second = others[1]
		}
		var got [2]people.Connecting
		for i, s := range []people.Side{first, second} {
			both.Go(func() { got[i], _, took[i] = nodes[i].Answer(t.Context(), s, true) })
		}
		both.Wait()
		if err := errors.Join(took[:]...); err != nil || (got[0].State == people.Connected) == (got[1].State == people.Connected) {
			t.Fatalf("both say yes: %s and %s, %v; want that one of the two ends the question", got[0].State, got[1].State, err)
		}
		if n := tellAll(t, nodes[1]); n != 2 {
			t.Fatalf("%d are to be told that they are connected, want both sides", n)
		}
		left, err := nodes[1].Disconnect(t.Context(), first)
		if err != nil || len(left) != 1 || left[0] != second.Identities[0] {
			t.Fatalf("Disconnect = %v, %v; want %v", left, err, second.Identities)
		}
		tellAll(t, nodes[0])
	}
}

// tellAll marks all as told, and returns how many of them are to be told that they are connected.
func tellAll(t *testing.T, node *people.Connections) (connected int) {
	t.Helper()
	untold, err := node.Untold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range untold {
		if p.State == people.Connected {
			connected++
		}
		if err := node.Told(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	return connected
}

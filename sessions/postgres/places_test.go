package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/postgres"
)

// TestTwoMachinesOfOneName: nodes that are called the same live side by side.
func TestTwoMachinesOfOneName(t *testing.T) {
	url := database(t)
	a, b := openAt(t, url, postgres.Options{Host: "web1", Installation: "1"}), openAt(t, url, postgres.Options{Host: "web1", Installation: "2"})
	nothing := func(context.Context, string, []byte) ([]byte, error) { return nil, nil }
	answers(t, a, nothing)
	answers(t, b, nothing)
	list, err := peers(a).Nodes(t.Context())
	must(t, err)
	if len(list) != 2 || list[0].Host != "web1" || list[1].Host != "web1" {
		t.Errorf("Nodes = %+v, want both", list)
	}
}

// TestCopiedStateDirectory: a start is refused while a node with its id lives in another
// place, and goes on when that one is dead.
func TestCopiedStateDirectory(t *testing.T) {
	url := database(t)
	o := postgres.Options{Host: "web1", Installation: "1", Place: "here", TTL: 2 * time.Second}
	first := openAt(t, url, o)
	answers(t, first, func(context.Context, string, []byte) ([]byte, error) { return nil, nil })
	o.Place = "there"
	copied := openAt(t, url, o)
	serve := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := peers(copied).Call(ctx, sessions.Peer{Node: "none"}, "x", nil) // makes it a node
		return err
	}
	var refused *postgres.CopiedError
	if err := serve(); !errors.As(err, &refused) || refused.Host != "web1" {
		t.Errorf("the copy starts: %v", err)
	}
	postgres.Freeze(first)
	if err := serve(); !errors.Is(err, sessions.ErrNoPeer) {
		t.Errorf("after the other one died: %v", err)
	}
}

// TestConfigurationOfNodes: nodes show the hash of their configuration, also after a reload.
func TestConfigurationOfNodes(t *testing.T) {
	s := openAt(t, database(t), postgres.Options{Configuration: "abc", TTL: ttl})
	answers(t, s, func(context.Context, string, []byte) ([]byte, error) { return nil, nil })
	shows := func() string {
		list, err := peers(s).Nodes(t.Context())
		must(t, err)
		return list[0].Configuration
	}
	if got := shows(); got != "abc" {
		t.Errorf("the node shows %q", got)
	}
	s.Backend().(interface{ Configured(hash string) }).Configured("def")
	deadline := time.Now().Add(time.Minute)
	for shows() != "def" {
		if time.Now().After(deadline) {
			t.Fatal("the node does not show its new configuration")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

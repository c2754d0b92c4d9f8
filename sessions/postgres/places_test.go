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
	for name, test := range map[string]struct {
		installation, place string // of the second node; the first is 1, here
		died                bool   // the first one, before that
		refused             bool
	}{
		"a copy":                          {"1", "there", false, true},
		"a copy of one that died":         {"1", "there", true, false},
		"another one of that name":        {"2", "there", false, false},
		"another one with the same paths": {"2", "here", false, false},
		"the same one after a kill":       {"1", "here", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			url := database(t)
			first := openAt(t, url, postgres.Options{Host: "web1", Installation: "1", Place: "here", TTL: 2 * time.Second})
			answers(t, first, func(context.Context, string, []byte) ([]byte, error) { return nil, nil })
			if test.died {
				postgres.Freeze(first)
			}
			second := openAt(t, url, postgres.Options{Host: "web1", Installation: test.installation, Place: test.place, TTL: 2 * time.Second})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err := peers(second).Call(ctx, sessions.Peer{Node: "none"}, "x", nil) // makes it a node
			var refused *postgres.CopiedError
			switch {
			case test.refused && (!errors.As(err, &refused) || refused.Host != "web1"):
				t.Errorf("it starts: %v", err)
			case !test.refused && !errors.Is(err, sessions.ErrNoPeer):
				t.Errorf("it does not start: %v", err)
			}
		})
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

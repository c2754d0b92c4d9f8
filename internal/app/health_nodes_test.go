//go:build !nopostgres

package app_test

import (
	"fmt"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/testkit/pgtest"
)

// Each node shows the figures of all of them, and adds up what their channels did, also that
// of a node which has ended.
func TestHealthOfNodes(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Options{})
	server.Do(t, "postgres", "CREATE DATABASE health")
	node := func(name string) *running {
		return newPlace(t, fmt.Sprintf("store: {type: postgres, url: %q}\nnode: {name: %s}", server.URL("health"), name)).run()
	}
	here := node("here")
	there := node("there")
	ask := api.Question{Key: channels.MustKey("web:default"), Text: "hello", ID: "one"}
	if _, err := api.PutQuestion.Call(t.Context(), there.admin, ask); err != nil {
		t.Fatal(err)
	}
	here.until("the figures of both nodes", func() bool {
		h, err := api.ReadHealth.Call(t.Context(), here.admin, api.None{})
		if err != nil {
			t.Fatal(err)
		}
		self := 0
		for _, n := range h.Nodes {
			if n.Problem != "" || n.Node == "" || n.Figures == nil || len(n.Figures.Waiting) != 240 {
				return false
			}
			if n.Self {
				self++
			}
		}
		return len(h.Nodes) == 2 && self == 1
	})
	in := func() int {
		t.Helper()
		days, err := api.ReadChannelDays.Call(t.Context(), here.admin, api.None{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range days.Channels {
			if c.Name == "web" {
				return c.In[46] + c.In[47]
			}
		}
		return -1
	}
	if got := in(); got != 1 {
		t.Errorf("web had %d messages in, want the one at the other node", got)
	}
	there.stop()
	if got := in(); got != 1 {
		t.Errorf("after the other node has ended, web had %d messages in, want 1", got)
	}
}

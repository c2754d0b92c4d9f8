package live_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/internal/testkit"
)

// thoughtsOf watches h's room and returns the thoughts it has received, in order.
func thoughtsOf(t *testing.T, h *house) func() string {
	t.Helper()
	var mu sync.Mutex
	var all strings.Builder
	seen := false
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	c := &live.Client{URL: h.url}
	go func() {
		defer close(done)
		_ = c.Events(ctx, -1, func(e live.Event) {
			mu.Lock()
			defer mu.Unlock()
			seen = true
			if e.Preview != nil {
				all.WriteString(e.Preview.Thoughts)
			}
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	testkit.Eventually(t, "the viewer to be attached", func() bool { mu.Lock(); defer mu.Unlock(); return seen })
	return func() string { mu.Lock(); defer mu.Unlock(); return all.String() }
}

// Each viewer gets all thoughts once, even one who attaches in the middle. Thoughts about one
// answer are not shown with the next.
func TestThoughts(t *testing.T) {
	h := open(t, func(o *live.Options) { o.Thoughts = true })
	if !h.hub.ShowsThoughts() {
		t.Error("ShowsThoughts() = false, want true")
	}
	first := thoughtsOf(t, h)
	show := func(turn, text, note, thoughts string) {
		t.Helper()
		if _, err := h.hub.Preview(t.Context(), channels.Preview{Key: room, Turn: turn, Text: text, Note: note, Thoughts: thoughts}); err != nil {
			t.Fatal(err)
		}
	}
	show("a", "", "", "I ")
	show("a", "", "", "think ")
	show("a", "", "web_fetch …", "more, ")
	second := thoughtsOf(t, h)
	show("a", "It is", "", "and stop.")
	for name, got := range map[string]func() string{"first": first, "second": second} {
		testkit.Eventually(t, "the "+name+" viewer's thoughts", func() bool { return got() == "I think more, and stop." })
	}
	show("b", "", "", "again")
	third := thoughtsOf(t, h)
	testkit.Eventually(t, "the next answer's thoughts", func() bool { return third() == "again" })
}

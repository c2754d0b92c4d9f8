package story_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// together is a house whose people use the page at the same time.
func together(t *testing.T) *daemon {
	t.Helper()
	h := newHouse(t, plan{
		channels: "pairing: true\n    allow: [\"71\", \"72\"]",
		rest:     "agent: {tools: {write_file: ask}}\npeople: {read_along: true}\n",
	})
	d := h.start()
	h.tell(ann, "Good morning.")
	h.said(ann.ID, 1)
	return d
}

// All tabs of a browser have one stream of events. When the tab that has it is closed,
// another one takes over, and misses nothing.
func TestWalkOneStream(t *testing.T) {
	pageKit(t)
	d := together(t)
	first := d.walker(chromium(t), d.holder("chat", "telegram:71"))
	tabs := []*walker{first}
	first.open("/talk/telegram:71")
	for _, path := range []string{"/talk/telegram:71", "/talk", "/jobs"} {
		w := newTab(t, first.ctx, first.site)
		w.open(path)
		tabs = append(tabs, w)
	}
	d.tell(ann, "Who is listening?")
	for _, w := range tabs[:2] {
		w.reads("echo: Who is listening?")
	}
	streams := func() (n int) {
		for _, w := range tabs {
			w.mu.Lock()
			n += w.streams
			w.mu.Unlock()
		}
		return n
	}
	if n := streams(); n != 1 {
		t.Errorf("four tabs began %d streams, want 1", n)
	}
	first.do(chromedp.Navigate("about:blank"))
	d.tell(ann, "And who is it now?")
	tabs[1].reads("echo: And who is it now?")
	if n := streams(); n != 2 {
		t.Errorf("after the first tab was left there were %d streams, want 2", n)
	}
}

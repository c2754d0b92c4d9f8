package story_test

import (
	"slices"
	"strings"
	"testing"

	"dragoman/internal/testkit"
)

// The budget of all is used up. Ann, who runs Dragoman, is told so once, also after a crash,
// and that she can change it; Bob is told to ask Ann.
func TestABudgetOfAllEnds(t *testing.T) {
	h := newHouse(t, plan{
		channels: `allow: ["71", "72"]`,
		rest:     "alerts: {to: \"telegram:71\"}\nlimits: {budgets: {unit: tokens, all: {day: 2}}}",
	})
	d := h.start()
	h.tell(ann, "hello #1")
	got := h.said(ann.ID, 2)
	const over = "I have used today's 2 tokens for everybody. Until 00:00 (UTC) I answer nobody."
	if got[0] != "echo: hello #1" || got[1] != over {
		t.Errorf("Ann reads %q, want the answer and the end of the budget", got)
	}
	h.tell(bob, "hello #2")
	if got, want := h.said(bob.ID, 1)[0], "I have used today's 2 tokens for everybody. I go on at 00:00 (UTC): write again then, or ask Ann."; got != want {
		t.Errorf("Bob reads %q, want %q", got, want)
	}
	d.kill()
	d = h.start()
	h.tell(ann, "hello again #3")
	if got, want := h.said(ann.ID, 3)[2], "I have used today's 2 tokens for everybody. I go on at 00:00 (UTC): write again then, or raise limits.budgets."; got != want {
		t.Errorf("Ann reads %q, want %q", got, want)
	}
	// After the crash it is noted in the log again, and not told again.
	testkit.Eventually(t, "the warning to be looked at", func() bool { return strings.Contains(d.out.String(), "a limit is nearly or wholly used up") })
	h.tell(ann, "/status")
	if got := h.said(ann.ID, 4); slices.Contains(got[2:], over) {
		t.Errorf("Ann is told a second time: %q", got)
	}
}

package bench_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dragoman/internal/testkit"
)

// mostCommits are those of a turn: its message, the turn with its answer, and the delivery,
// which are two. What is in a hundred turns besides is rare: room is made for notes.
const mostCommits = 4.05

// TestCommitsOfATurn counts what a turn commits, also where budgets limit it, what was
// remembered is in its prompt, and questions could be asked: all of that is in the commits that
// there are anyway.
func TestCommitsOfATurn(t *testing.T) {
	const token = "a token of sixteen letters"
	for _, tt := range []struct{ name, more string }{
		{"as it is", ""},
		{"with all that an assistant keeps", "agent: {prompt_facts: 20}\nlimits: {budgets: {unit: tokens, person: {day: 100000000}, chat: {month: 100000000}, all: {day: 100000000}}}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := testkit.FreeAddress(t)
			h := newHouse(t, build(t), plan{http: fmt.Sprintf("{listen: %q, token: %q}", addr, token), more: tt.more})
			d := h.start()
			defer d.stop()
			const chats, turns = 10, 10
			h.alone(firstChat, turns) // the first turn of a process does more
			before := committed(metricsOf(t, addr, token))
			for i := range chats {
				h.alone(firstChat+1+int64(i), turns)
			}
			each := (committed(metricsOf(t, addr, token)) - before) / (chats * turns)
			t.Logf("a turn commits %.2f times", each)
			if each < 1 || each > mostCommits {
				t.Errorf("a turn commits %.2f times, want at most %.2f", each, mostCommits)
			}
		})
	}
}

// committed is how often a daemon with these metrics has committed.
func committed(metrics map[string]float64) (n float64) {
	for name, count := range metrics {
		operation, isStore := strings.CutPrefix(name, "dragoman_store_seconds_count")
		reads := slices.Contains([]string{`{operation="history"}`, `{operation="pending"}`, `{operation="unsent"}`}, operation)
		if isStore && !reads {
			n += count
		}
	}
	return n
}

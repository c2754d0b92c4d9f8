package window_test

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// shownAs counts how the results of get are shown: whole, cut to their ends, or as a
// notice.
func shownAs(view []sessions.Message) (whole, soft, notices int) {
	for _, m := range view {
		switch {
		case m.Role != sessions.RoleTool || m.Content == "little":
		case strings.Contains(m.Content, "[The result of"):
			notices++
		case strings.Contains(m.Content, "left out here to save room"):
			soft++
		default:
			whole++
		}
	}
	return whole, soft, notices
}

// TestCase36OpenclawPreset: results of 4,000 characters or more are cut to their
// ends, and become notices only where that saves 50,000 characters: 17 results of
// which 3,000 are shown do, 16 do not.
func TestCase36OpenclawPreset(t *testing.T) {
	p := window.PrunePresets["openclaw"]
	for _, test := range []struct {
		name                 string
		length, results      int
		percent              float64
		whole, soft, notices int
	}{
		{"short ones", 3990, 5, 90, 5, 0, 0},
		{"little room taken", 4000, 20, 29, 20, 0, 0},
		{"over 30 percent", 4000, 5, 31, 0, 5, 0},
		{"over 50 percent, little to take away", 10_000, 16, 99, 0, 16, 0},
		{"over 50 percent, enough to take away", 10_000, 17, 99, 0, 0, 17},
		{"under 50 percent, enough to take away", 10_000, 17, 49, 0, 17, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := strings.Repeat("All well. ", test.length/10)
			msgs := talkOf()
			for i := range test.results {
				msgs = append(msgs, asked(int64(2*i+2), "get", result)...)
			}
			msgs = window.Repair(append(msgs, later(1000, 3)...))
			size := windowFor(msgs, test.percent)
			// In one request, as after a change of the model: the earlier calls were
			// made in a window with room for everything.
			view := onceFull(p, msgs, size)
			whole, soft, notices := shownAs(view)
			if whole != test.whole || soft != test.soft || notices != test.notices {
				t.Errorf("%d whole, %d by their ends, %d notices; want %d, %d, %d", whole, soft, notices, test.whole, test.soft, test.notices)
			}
			if err := window.Validate(view); err != nil {
				t.Errorf("Validate = %v, want nil", err)
			}
		})
	}
}

// TestCase36FromFiftyThousand: with the pruning preset for molf's summaries, 49,999
// characters stay untouched, however full the window is.
func TestCase36FromFiftyThousand(t *testing.T) {
	p := window.PrunePresets[window.PrunePresetFor("molf")]
	const result = 2
	for _, test := range []struct {
		length  int
		percent float64
		want    string
	}{
		{49_999, 31, "whole"},
		{49_999, 120, "whole"},
		{50_000, 29, "whole"},
		{50_000, 31, "soft"},
		{50_000, 51, "notice"},
	} {
		t.Run(fmt.Sprintf("%d characters at %g percent", test.length, test.percent), func(t *testing.T) {
			content := strings.Repeat("é", test.length) // characters, not bytes
			msgs := window.Repair(talkOf(asked(2, "get", content), later(4, 3)))
			view := p.Apply(msgs, window.PruneTarget{Window: windowFor(msgs, test.percent)})
			whole, soft, notices := shownAs(view)
			if got := map[string]int{"whole": whole, "soft": soft, "notice": notices}; got[test.want] != 1 {
				t.Errorf("shown as %v, want it %s", got, test.want)
			}
			if test.want == "whole" && view[result].Content != content {
				t.Error("the result is not what it was")
			}
		})
	}
}

// onceFull prunes msgs as if they had all arrived at once: their usage says that the
// requests before took almost nothing.
func onceFull(p window.Prune, msgs []sessions.Message, size int) []sessions.Message {
	one := make([]sessions.Message, 0, len(msgs))
	calls := sessions.Message{Role: sessions.RoleAssistant, Seq: 2}
	var rest []sessions.Message
	for _, m := range msgs {
		switch {
		case m.Role == sessions.RoleUser:
			one = append(one, m)
		case m.Seq >= 1000:
			rest = append(rest, m)
		case m.Role == sessions.RoleAssistant:
			calls.ToolCalls = append(calls.ToolCalls, m.ToolCalls...)
		}
	}
	one = append(one, calls)
	for _, m := range msgs {
		if m.Role == sessions.RoleTool && m.Seq < 1000 {
			one = append(one, m)
		}
	}
	return p.Apply(append(one, rest...), window.PruneTarget{Window: size})
}

// TestPruneMinTotalIsSticky replays a growing conversation: results become notices in
// steps that each save MinTotal characters, and no result is shown again.
func TestPruneMinTotalIsSticky(t *testing.T) {
	p := window.PrunePresets["openclaw"]
	result := strings.Repeat("All well. ", 1000)
	msgs := talkOf()
	size := 15 * window.Count(asked(1, "get", result), nil)
	var before []sessions.Message
	cleared, steps := 0, 0
	for i := range 40 {
		msgs = append(msgs, asked(int64(2*i+2), "get", result)...)
		view := p.Apply(window.Repair(msgs), window.PruneTarget{Window: size})
		for j := range before {
			if len(view[j].Content) > len(before[j].Content) {
				t.Fatalf("request %d shows message %d again with %d bytes after %d", i, j, len(view[j].Content), len(before[j].Content))
			}
		}
		_, _, notices := shownAs(view)
		if more := notices - cleared; more > 0 {
			steps++
			if more < 16 {
				t.Errorf("request %d makes notices of %d results, want at least 16 at once", i, more)
			}
		}
		before, cleared = view, notices
	}
	if steps < 2 {
		t.Errorf("notices came %d times, want at least 2, or this test proves nothing", steps)
	}
}

package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// looksUp runs a conversation of this many turns under the default summaries, in
// which every third turn calls a tool whose result has length characters.
func looksUp(t *testing.T, p window.Prune, turns, length int) *talked {
	t.Helper()
	c := window.Presets[window.DefaultPreset]
	r := &talked{}
	look := tool{agent.Spec{Name: "look"}, func(_ context.Context, c agent.Call) (string, error) {
		return string(c.Args) + " " + strings.Repeat("shelf row label count note ", length/27), nil
	}}
	echo := echoing(c, &r.asked, &r.requests)
	m := newScript(t, func(ctx context.Context, q agent.Request, d func(agent.Delta)) (agent.Response, error) {
		resp, err := echo(ctx, q, d)
		resp.Usage = nil // invented numbers would calibrate the estimates
		last := q.Messages[len(q.Messages)-1]
		if last.Role == sessions.RoleUser && len(q.Tools) > 0 && !strings.Contains(last.Content, "look at") {
			resp = response("Gladly. The shelf is as it was, and so is the list.", "stop")
			resp.Usage = nil
		}
		return resp, err
	})
	a := newAgent(t, m, agent.Options{System: strings.Repeat("Be kind. ", usual.prompt/3), ContextWindow: usual.window, Compaction: c, Prune: p}, look)
	r.chat = chat{t: t, a: a, h: sessions.History{Generation: "20260301_001"}}
	for i := range turns {
		text := fmt.Sprintf("Thank you for that. What does it mean for place %d?", i)
		if i%3 == 0 {
			text = fmt.Sprintf("Please look at place %d and tell me what you find there.", i)
		}
		r.say(text + " By the way, " + fact(i) + ".")
	}
	return r
}

// anew returns how many tokens of a request, on average, do not repeat the beginning
// of the one before.
func (r *talked) anew(t *testing.T) int {
	fresh, all := 0, 0
	before := ""
	for _, q := range r.requests {
		now := wire(t, q)
		fresh += len(now) - common(before, now)
		all += len(now)
		before = now
	}
	return r.size() * fresh / all
}

// TestPruneMeasured runs the same conversation without pruning and under two presets
// (the third does not prune results of this size), and writes the results into
// docs/internals/performance.md.
func TestPruneMeasured(t *testing.T) {
	lengths, names := []int{10_000, 20_000}, []string{"off", window.DefaultPrunePreset, "openclaw"}
	rows, sizes := make([]string, 6), make([]int, 6)
	t.Run("rows", func(t *testing.T) {
		for i := range rows {
			length, name := lengths[i/3], names[i%3]
			t.Run(fmt.Sprint(name, " ", length), func(t *testing.T) {
				t.Parallel()
				p, found := window.PrunePresets[name]
				p.Off = !found
				if found {
					name = "`" + name + "`"
				}
				r := looksUp(t, p, 45, length)
				shared, breaks := r.shared()
				sizes[i] = r.size()
				rows[i] = fmt.Sprintf("| %d characters | %s | %.1f %% | %d of %d | %d | %d | %d |\n",
					length, name, shared, breaks, len(r.requests), sizes[i], r.anew(t), len(r.summaries))
			})
		}
	})
	if off, on := sizes[3], sizes[4]; on >= off*3/4 {
		t.Errorf("the default takes %d tokens a request of %d without pruning: it shortens next to nothing", on, off)
	}
	publish(t, "prune", "| results of | `prune` | shared | requests that do not begin with the one before | tokens per request | of them new | compactions |\n|---|---|---|---|---|---|---|\n"+
		strings.Join(rows, ""))
}

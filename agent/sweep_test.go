package agent_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// The grid that contains the default.
var (
	sweepTriggers = []int{20, 40, 80, 160, 0} // messages; 0: only by the share of the window
	sweepKeeps    = []int{4, 12, 30}
	sweepPrunes   = []string{"off", window.DefaultPrunePreset, "later"}
)

// pruning returns the pruning called p.prune; "later" is the default at 50 and 75 %
// of the window, so that more is pruned at once and less often.
func (p swept) pruning() window.Prune {
	rules := window.DefaultPrune()
	rules.Off = p.prune == "off"
	if p.prune == "later" {
		rules.SoftPercent, rules.HardPercent = 50, 75
	}
	return rules
}

// swept is one point of the grid.
type swept struct {
	trigger, keep int
	prune         string
}

func (p swept) compaction() window.Compaction {
	c := window.Presets[window.DefaultPreset]
	c.Trigger.Messages, c.Keep.N = window.Threshold(p.trigger), p.keep
	return c
}

func (p swept) isDefault() bool {
	return p.compaction() == window.Presets[window.DefaultPreset] && p.prune == window.DefaultPrunePreset
}

// TestSweep runs one conversation at every point of a grid of triggers, amounts kept
// and ways of pruning, and writes the results into docs/internals/performance.md. It
// takes minutes: make sweep.
func TestSweep(t *testing.T) {
	if os.Getenv("DRAGOMAN_SWEEP") == "" {
		t.Skip("DRAGOMAN_SWEEP is not set: make sweep")
	}
	var points []swept
	for _, trigger := range sweepTriggers {
		for _, keep := range sweepKeeps {
			for _, prune := range sweepPrunes {
				if trigger == 0 || keep < trigger {
					points = append(points, swept{trigger, keep, prune})
				}
			}
		}
	}
	rows := make([]string, len(points))
	t.Run("points", func(t *testing.T) {
		for i, p := range points {
			t.Run(fmt.Sprint(p), func(t *testing.T) {
				t.Parallel()
				rows[i] = p.measure(t)
			})
		}
	})
	publish(t, "sweep", "| trigger | keeps | `prune` | shared | summariser calls per 100 turns | tokens per turn | of them new | facts in view | largest request |\n|---|---|---|---|---|---|---|---|---|\n"+
		strings.Join(rows, ""))
}

// measure returns the row of one point.
func (p swept) measure(t *testing.T) string {
	const turns = 200
	r := p.talk(t, turns)
	shared, _ := r.shared()
	sent, largest := 0, 0
	for _, q := range append(slices.Clone(r.requests), r.asked...) {
		n := window.Count(q.Messages, nil) + window.EstimateText(q.System)
		sent, largest = sent+n, max(largest, n)
	}
	if r.unaccounted != 0 {
		t.Errorf("%d messages are unaccounted for, want none", r.unaccounted)
	}
	mark, trigger := "", fmt.Sprint(p.trigger)
	if p.isDefault() {
		mark = "**"
	}
	if p.trigger == 0 {
		trigger = "none"
	}
	return fmt.Sprintf("| %[1]s%[2]s%[1]s | %[1]s%[3]d%[1]s | %[1]s`%[4]s`%[1]s | %[1]s%.1[5]f %%%[1]s | %[1]s%.1[6]f%[1]s | %[1]s%[7]d%[1]s | %[1]s%[8]d%[1]s | %[1]s%[9]s%[1]s | %[1]s%[10]d%[1]s |\n",
		mark, trigger, p.keep, p.prune, shared, 100*float64(len(r.asked))/turns, sent/turns, r.anew(t)*len(r.requests)/turns, r.inView(), largest)
}

// inView counts the facts that the last request still contains.
func (r *talked) inView() string {
	last := r.requests[len(r.requests)-1]
	text := last.System + show(last.Messages)
	told, kept := 0, 0
	for _, m := range r.all {
		for _, f := range facts.FindAllString(m.Content, -1) {
			if m.Role == sessions.RoleUser {
				told++
				if strings.Contains(text, f) {
					kept++
				}
			}
		}
	}
	return fmt.Sprintf("%d of %d", kept, told)
}

// talk runs the conversation: every second turn calls a tool, whose results have
// 1,600 characters, and every tenth time 20,000.
func (p swept) talk(t *testing.T, turns int) *talked {
	t.Helper()
	r := &talked{}
	c := p.compaction()
	calls := 0
	look := tool{agent.Spec{Name: "look"}, func(_ context.Context, c agent.Call) (string, error) {
		length := 1600
		calls++
		if calls%10 == 0 {
			length = 20_000
		}
		return string(c.Args) + " " + strings.Repeat("shelf row label count note ", length/27), nil
	}}
	echo := echoing(c, &r.asked, &r.requests)
	m := newScript(t, func(ctx context.Context, q agent.Request, d func(agent.Delta)) (agent.Response, error) {
		resp, err := echo(ctx, q, d)
		last := q.Messages[len(q.Messages)-1]
		if last.Role == sessions.RoleUser && len(q.Tools) > 0 && !strings.Contains(last.Content, "look at") {
			resp = response("Gladly. The shelf is as it was, and so is the list.", "stop")
		}
		resp.Usage = nil // invented numbers would calibrate the estimates
		return resp, err
	})
	a := newAgent(t, m, agent.Options{System: strings.Repeat("Be kind. ", usual.prompt/3), ContextWindow: usual.window, Compaction: c, Prune: p.pruning()}, look)
	r.chat = chat{t: t, a: a, h: sessions.History{Generation: "20260301_001", FirstSeq: 1}}
	for i := range turns {
		text := fmt.Sprintf("Thank you for that. What does it mean for place %d?", i)
		if i%2 == 0 {
			text = fmt.Sprintf("Please look at place %d and tell me what you find there.", i)
		}
		if i < 10 || i%5 == 0 {
			text += " By the way, " + fact(i) + "."
		}
		r.say(text)
	}
	return r
}

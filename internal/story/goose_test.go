package story_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"dragoman/internal/testkit"
)

// With a preset of goose's another model can write the summaries. When they are
// made follows a SIGHUP; which model writes them needs a restart.
func TestGooseSummariesFollowHangup(t *testing.T) {
	for _, preset := range []string{"goose-conservative", "goose-balanced", "goose-aggressive"} {
		t.Run(preset, func(t *testing.T) {
			h := newHouse(t, plan{})
			configure := func(more, writer string) {
				h.configure(plan{
					model: fmt.Sprintf("model: {type: openai, base_url: %s, name: fake, context_window: 6000, retries: 0}", h.model.URL()),
					rest:  fmt.Sprintf("agent: {tools: [time]}\nsummary: {preset: %s%s, model: {name: %s}}", preset, more, writer),
				})
			}
			configure(", when: off", "cheap")
			d := h.start()
			n := 0
			talk := func(times int) {
				for range times {
					n++
					h.tell(ann, fmt.Sprintf("#%d %s", n, strings.Repeat("bees and honey ", 60)))
					h.said(ann.ID, n)
				}
			}
			summaries := func() (models []string) {
				for _, r := range h.model.Requests() {
					if len(r.Tools) == 0 {
						models = append(models, r.Model)
					}
				}
				return models
			}
			hangup := func() {
				t.Helper()
				before := strings.Count(d.out.String(), "msg=\"reloaded")
				if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
					t.Fatal(err)
				}
				testkit.Eventually(h.t, "the reload", func() bool { return strings.Count(d.out.String(), "msg=\"reloaded") > before })
			}
			talk(14)
			if got := summaries(); len(got) > 0 {
				t.Fatalf("%d summaries were made, and they are off", len(got))
			}
			configure("", "cheap")
			hangup()
			talk(1)
			testkit.Eventually(h.t, "a summary", func() bool { return strings.Contains(d.out.String(), "conversation summarised") })
			if strings.Contains(d.out.String(), "need a restart") {
				t.Error("when summaries are made needs a restart")
			}
			if got := summaries(); slices.ContainsFunc(got, func(m string) bool { return m != "cheap" }) {
				t.Errorf("summaries are written by %q, want cheap", got)
			}
			configure("", "dear")
			hangup()
			testkit.Eventually(h.t, "the log to name summary.model.name", func() bool {
				return strings.Contains(d.out.String(), `need a restart" settings=summary.model.name`)
			})
		})
	}
}

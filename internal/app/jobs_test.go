package app_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/internal/api"
)

// A job that fails again and again tells its target once. When it has worked in between,
// also if it had nothing to say then, it tells once more.
func TestAJobThatFailsSaysSoOnce(t *testing.T) {
	t.Parallel()
	var well atomic.Bool
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main"}, Reply: func(*agenttest.Request) agenttest.Reply {
		if well.Load() {
			return agenttest.TextReply("HEARTBEAT_OK")
		}
		return agenttest.StatusReply(401, nil, `{"error": {"message": "bad key"}}`)
	}})
	r := newPlace(t, "model: {base_url: '"+server.URL()+"', name: main, retries: 0}"+jobs).run()
	page := r.page("")
	ran := 0
	run := func(outcome string, told int) {
		t.Helper()
		ran++
		runs := func() []api.Occurrence {
			list, err := api.ListOccurrences.Call(t.Context(), r.admin, api.JobLimited{Job: "morning", Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			return list.Data
		}
		r.until("the run to begin", func() bool { // within a second of the last one it does not
			if err := api.RunJob.Call(t.Context(), r.admin, api.JobName{Name: "morning"}); err != nil {
				t.Fatal(err)
			}
			return len(runs()) == ran
		})
		r.until("the run to be "+outcome, func() bool { return runs()[0].Outcome == outcome })
		r.until("what it tells", func() bool { return len(r.feed(page)) >= told })
		items := r.feed(page)
		if len(items) != told {
			t.Fatalf("after run %d, which %s, the target reads %+v, want %d messages", ran, outcome, items, told)
		}
		for _, it := range items {
			if !strings.Contains(it.Text, "The job morning could not run: ") && it.Text != "The job morning works again." {
				t.Errorf("the target reads %q", it.Text)
			}
		}
	}
	run("failed", 1)
	run("failed", 1)
	well.Store(true)
	run("silent", 2) // it says that it works again
	well.Store(false)
	run("failed", 3)
	run("failed", 3)
}

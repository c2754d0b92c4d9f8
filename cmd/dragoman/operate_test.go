package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
)

func TestQueue(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"The queue is empty: every message is answered"}, "queue", "list")
	w.want([]string{"[]"}, "queue", "list", "--json")
	w.fail(1, "there is no entry out-9", "queue", "show", "out-9")
	for _, id := range []string{"7", "8"} {
		if err := w.daemon.store.Quarantine(context.Background(), sessions.Quarantined{Channel: "telegram", ID: id, Raw: []byte("{\x1b"), Why: "no JSON"}); err != nil {
			t.Fatal(err)
		}
	}
	items, err := w.daemon.store.ListQueue(context.Background(), 10)
	if err != nil || len(items) != 2 {
		t.Fatalf("ListQueue = %v, %v", items, err)
	}
	first, second := items[0].ID, items[1].ID
	w.want([]string{"ID", first, second, "no JSON", "5 min ago"}, "queue", "list")
	w.want([]string{"(there may be more: --limit)"}, "queue", "list", "--limit", "1")
	w.want([]string{first, "{·"}, "queue", "show", first)
	w.fail(exitUsage, "add --yes", "queue", "drop", first)
	// One that does not exist does not keep the others from being dropped.
	code, out, errs := w.run("queue", "drop", "--yes", first, "out-9", second)
	if code != 1 || !strings.Contains(out, first+" was given up.\n"+second+" was given up.") || !strings.Contains(errs, "there is no entry out-9") {
		t.Errorf("drop = %d %q %q", code, out, errs)
	}
	w.want([]string{"The queue is empty"}, "queue", "list")
	w.fail(1, first, "queue", "retry", first)
}

type oneJob struct{ ran int }

func (j *oneJob) Jobs(context.Context) ([]api.Job, error) {
	return []api.Job{{
		Name: "morning", Schedule: "0 8 * * *", Target: "telegram:1", Next: clock.Add(2 * time.Hour),
		Last: &api.Occurrence{Job: "morning", Due: clock, Outcome: "skipped", Why: "outside of active hours"},
	}}, nil
}

func (j *oneJob) Upcoming(context.Context, api.Job, time.Time) ([]time.Time, error) { return nil, nil }

func (j *oneJob) PauseJob(context.Context, string, bool) error { return nil }

func (j *oneJob) RunJob(_ context.Context, name string) error {
	if name != "morning" {
		return sessions.ErrNotFound
	}
	j.ran++
	return nil
}

func TestJobs(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"People ask for reminders by talking", "Add jobs under heartbeat.jobs"}, "jobs", "list")
	w.want([]string{"Nothing was due yet."}, "jobs", "log")
	w.fail(1, "it is not running", "jobs", "run", "morning")
	jobs := &oneJob{}
	w.daemon.jobs = jobs
	w.want([]string{"morning", "0 8 * * *", "in 1 h", "skipped: outside of active hours"}, "jobs", "list")
	w.want([]string{"morning was started"}, "jobs", "run", "morning")
	w.fail(1, "there is no job evening", "jobs", "run", "evening")
	if jobs.ran != 1 {
		t.Errorf("ran %d times, want 1", jobs.ran)
	}
}

func TestPair(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"Nobody is paired, and nobody is asking."}, "pair", "list")
	_, _, err := w.daemon.store.RequestPairing(context.Background(), sessions.Pairing{
		Channel: "telegram", PersonID: "7", Name: "Ann\n\x1b[1m", Code: "ABCD-EFGH", Expires: clock.Add(time.Hour),
	}, clock, 3)
	if err != nil {
		t.Fatal(err)
	}
	w.want([]string{"telegram", "7", "asks; the code expires in 55 min", "ABCD-EFGH"}, "pair", "list")
	w.fail(1, "no open request has this code", "pair", "approve", "XXXX")
	w.want([]string{`7 (calls themselves "Ann ·[1m") may talk on telegram now.`}, "pair", "approve", "abcdefgh")
	w.want([]string{"let in 5 min ago"}, "pair", "list")
	w.want([]string{"7 may no longer talk on telegram"}, "pair", "remove", "telegram", "7")
	w.fail(1, "7 is not paired on telegram", "pair", "remove", "telegram", "7")
}

func TestStatus(t *testing.T) {
	w := newWorld(t)
	w.wantCode(exitDown, []string{"is not running; start it with: dragoman run", "inbox      empty", "outbox     empty"}, "status")
	w.wantCode(exitDown, []string{`"running": false`}, "status", "--json")
	if _, err := w.daemon.store.Accept(context.Background(), sessions.Entry{Inbound: channels.Inbound{Key: channels.MustKey("telegram:1"), ID: "1", Text: "x"}}); err != nil {
		t.Fatal(err)
	}
	w.daemon.trouble = &api.Trouble{At: clock.Add(293 * time.Second), Why: "connection\x1b[1m refused.", InARow: 3}
	w.daemon.troubles = []api.OtherTrouble{{Model: "small", Trouble: api.Trouble{At: w.daemon.trouble.At, Why: "busy", InARow: 1}}}
	w.wantCode(exitDown, []string{
		"1 message waits for an answer, the oldest from 5 min ago",
		"\nmodel      the last call failed 7 s ago: connection·[1m refused (3 in a row)\n" +
			"model      the last call of small failed 7 s ago: busy (1 in a row)\n",
	}, "status")
	w.wantCode(exitDown, []string{`"model_trouble": {`, `"in_a_row": 3`}, "status", "--json")
}

// Scripts and monitors read the code: 1 is for what an operator can mend, and
// an unused channel is not that.
func TestStatusCodes(t *testing.T) {
	for name, c := range map[string]struct {
		status api.Status
		want   bool
	}{
		"well":        {api.Status{}, false},
		"a store":     {api.Status{Problem: "The disk is full."}, true},
		"the disk":    {api.Status{Info: api.Info{DiskFull: true}}, true},
		"the model":   {api.Status{Info: api.Info{ModelTrouble: &api.Trouble{InARow: 1}}}, true},
		"given up":    {api.Status{QueueCounts: &api.QueueCounts{Dead: 1}}, true},
		"a reload":    {api.Status{Info: api.Info{Refused: &api.RefusedReload{Why: []string{"x"}}}}, true},
		"a channel":   {api.Status{Info: api.Info{Channels: map[string]api.ChannelStatus{"irc": {State: channels.StateFailed}}}}, true},
		"never used":  {api.Status{Info: api.Info{Channels: map[string]api.ChannelStatus{"wa": {State: channels.StateFailed, Unused: true}}}}, false},
		"on its way":  {api.Status{Info: api.Info{Channels: map[string]api.ChannelStatus{"irc": {State: channels.StateConnecting}}}}, false},
		"some waits":  {api.Status{QueueCounts: &api.QueueCounts{Waiting: 3}}, false},
		"interrupted": {api.Status{Info: api.Info{Channels: map[string]api.ChannelStatus{"irc": {State: channels.StateDown}}}}, true},
	} {
		if got := degraded(c.status); got != c.want {
			t.Errorf("%s: degraded = %v, want %v", name, got, c.want)
		}
	}
}

// TestListsFollowPages: a list that is longer than a page of the API is shown whole, up to
// its limit.
func TestListsFollowPages(t *testing.T) {
	w := newWorld(t)
	const all = 205
	for i := range all {
		id := fmt.Sprintf("line-%03d", i)
		if err := w.daemon.store.Quarantine(context.Background(), sessions.Quarantined{Channel: "telegram", ID: id, Raw: []byte("x"), Why: "no JSON"}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.daemon.store.Remember(context.Background(), "chat:telegram:-100", sessions.NewFact{Text: fmt.Sprintf("fact number %d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int]int{203: 203, all: all, 999: all} {
		out := w.want(nil, "queue", "list", "--limit", fmt.Sprint(limit))
		if got := strings.Count(out, "line-"); got != want {
			t.Errorf("--limit %d shows %d entries, want %d", limit, got, want)
		}
		if more := strings.Contains(out, "there may be more"); more != (want < all) {
			t.Errorf("--limit %d says that there may be more: %v", limit, more)
		}
	}
	if got := strings.Count(w.want(nil, "sessions", "facts", "telegram:-100"), "fact number"); got != all {
		t.Errorf("%d facts are shown, want %d", got, all)
	}
}

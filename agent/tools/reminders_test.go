package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/tools"
	clocks "dragoman/heartbeat"
	"dragoman/internal/reminders"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"

	"github.com/google/go-cmp/cmp"
)

// jobs are the four tools over a real store, on Saturday 28 November 2026 at 11:00 in
// Berlin.
func jobs(t *testing.T) map[string]agent.Tool {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC) }
	book := reminders.New(sqlitetest.Open(t, now), reminders.Options{Now: now, Zone: berlin})
	byName := map[string]agent.Tool{}
	for _, tool := range []agent.Tool{tools.Schedule(book), tools.ListJobs(book), tools.ChangeJob(book), tools.CancelJob(book)} {
		byName[tool.Spec().Name] = tool
	}
	return byName
}

func TestJobsByTalking(t *testing.T) {
	for _, test := range []struct {
		name, args, want string
	}{
		{"at", `{"text":"call Ann","at":"2026-11-29T09:00"}`, "Sunday 29 November 2026, 09:00 (Europe/Berlin), in 22 hours, here."},
		{"in", `{"text":"stretch","in":"1h30m"}`, "Saturday 28 November 2026, 12:30"},
		{"every", `{"text":"drink","every":"2h"}`, "every 2 hours, first Saturday 28 November 2026, 13:00"},
		{
			"repeat", `{"prompt":"Summarise the news on X","repeat":{"freq":"monthly","days":["-1fr"],"times":["16:00"],"until":"2027-06-30"}}`,
			"every month on the last Friday at 16:00 until 2027-06-30, first Friday 25 December 2026, 16:00",
		},
		{"texts for lists, and texts for numbers", `{"text":"bins","repeat":{"freq":"weekly","interval":"2","days":"mo","times":"07:00"}}`, "every 2 weeks on Monday at 07:00, first Monday 30 November 2026, 07:00"},
		{"numbers for days", `{"text":"rent","repeat":{"freq":"monthly","days":[1, -1],"times":["08:00"],"count":4}}`, "on the 1st day and the last day at 08:00, 4 times, first Monday 30 November 2026, 08:00"},
		{"from a day on", `{"text":"birthday","at":"2027-03-03T08:00","repeat":{"freq":"yearly"}}`, "every year at 08:00, first Wednesday 3 March 2027, 08:00"},
		{"a null", `{"text":"a","in":"1h","repeat":null}`, "Saturday 28 November 2026, 12:00"},
		{"a reason", `{"text":"a","in":"1h","reason":"they asked"}`, "Saturday 28 November 2026, 12:00"},
		{"an argument that does not exist", `{"text":"a","in":"1h","channel":"all"}`, `schedule: arguments: unknown field "channel"`},
		{"the past", `{"text":"a","at":"2026-11-27T09:00"}`, "schedule: 2026-11-27 09:00 is over: it is Saturday 28 November 2026, 11:00 (Europe/Berlin) now"},
		{"an offset", `{"text":"a","at":"2026-11-29T09:00+01:00"}`, "has an offset"},
		{"a list of lists", `{"text":"a","repeat":{"freq":"daily","times":[["09:00"]]}}`, "want a list of texts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := jobs(t)["schedule"].Run(t.Context(), alicePrivate.call(test.args))
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("schedule(%s) = %q, want %q in it", test.args, got, test.want)
			}
		})
	}
}

func TestJobsAreListedChangedAndCancelled(t *testing.T) {
	all := jobs(t)
	run := func(p place, tool, args string) string {
		t.Helper()
		got, err := all[tool].Run(t.Context(), p.call(args))
		if err != nil {
			return err.Error()
		}
		return got
	}
	run(alicePrivate, "schedule", `{"text":"call Ann","at":"2026-11-29T09:00"}`)
	for _, step := range []struct {
		who              place
		tool, args, want string
	}{
		{alicePrivate, "list_jobs", `{}`, "- r1: Sunday 29 November 2026, 09:00 (Europe/Berlin), in 22 hours: call Ann\n"},
		{bobPrivate, "list_jobs", `{}`, "There are no reminders here."},
		{bobPrivate, "cancel_job", `{"id":"r1"}`, "cancel_job: there is no reminder r1 here; /jobs shows the numbers"},
		{nobodyPrivate, "list_jobs", `{}`, "list_jobs: the network does not vouch for who this person is, so a reminder would be nobody's"},
		{alicePrivate, "change_job", `{"id":"r1"}`, "change_job: write what to change: text, prompt, or when"},
		{alicePrivate, "change_job", `{"id":"r1","in":"2h"}`, "Changed. Reminder r1: Saturday 28 November 2026, 13:00 (Europe/Berlin), in 2 hours, here. Undo: /jobs"},
		{alicePrivate, "cancel_job", `{"id":"r1"}`, "Cancelled reminder r1: call Ann\n/jobs restore r1 brings it back within the hour."},
		{alicePrivate, "list_jobs", `{}`, "There are no reminders here."},
	} {
		if diff := cmp.Diff(step.want, run(step.who, step.tool, step.args)); diff != "" {
			t.Errorf("%s(%s) (-want +got):\n%s", step.tool, step.args, diff)
		}
	}
}

// A list has the words of reminders, so a call after it is as tainted as they are.
func TestListedJobsTaint(t *testing.T) {
	for _, tool := range []string{"list_jobs", "cancel_job"} {
		all := jobs(t)
		make := alicePrivate.call(`{"text":"buy X","in":"1h"}`)
		make.Taint = []sessions.Origin{sessions.OriginWeb}
		if _, err := all["schedule"].Run(t.Context(), make); err != nil {
			t.Fatal(err)
		}
		later := alicePrivate.call(`{}`)
		if tool == "cancel_job" {
			later = alicePrivate.call(`{"id":"r1"}`)
		}
		later.Found = new(sessions.Taint)
		if _, err := all[tool].Run(t.Context(), later); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]sessions.Origin{sessions.OriginWeb}, later.Found.List()); diff != "" {
			t.Errorf("%s taints (-want +got):\n%s", tool, diff)
		}
	}
}

// brokenStore has reminders that cannot be read.
type brokenStore struct{ tools.Reminders }

func (brokenStore) ListJobs(context.Context, agent.Call) (string, error) {
	return "", errors.New("sqlite: open /var/lib/dragoman/store.db: disk full")
}

func (brokenStore) Schedule(context.Context, agent.Call, clocks.Order) (string, error) {
	return "", errors.New("sqlite: open /var/lib/dragoman/store.db: disk full")
}

func TestModelsDoNotReadTheStoresErrors(t *testing.T) {
	for _, tool := range []agent.Tool{tools.Schedule(brokenStore{}), tools.ListJobs(brokenStore{})} {
		_, err := tool.Run(t.Context(), alicePrivate.call(`{}`))
		if err == nil || strings.Contains(err.Error(), "/var") {
			t.Errorf("%s: %v, want an error without the path", tool.Spec().Name, err)
		}
	}
}

// Every hello pays for the four tools: 2300 bytes are some 550 tokens.
func TestWhatJobsCost(t *testing.T) {
	total := 0
	for name, tool := range jobs(t) {
		s := tool.Spec()
		total += len(s.Name) + len(s.Description) + len(s.Parameters)
		var schema struct {
			Type       string
			Properties map[string]json.RawMessage
			Required   []string
		}
		if err := json.Unmarshal(s.Parameters, &schema); err != nil || schema.Type != "object" || schema.Properties == nil {
			t.Errorf("the schema of %s is %s: %v", name, s.Parameters, err)
		}
		if name == "change_job" && (len(schema.Properties) != 8 || len(schema.Required) != 1) {
			t.Errorf("the schema of change_job is %s", s.Parameters)
		}
		if strings.Contains(string(s.Parameters), "null") {
			t.Errorf("the schema of %s has a list of types, which some servers refuse: %s", name, s.Parameters)
		}
	}
	if total > 2300 {
		t.Errorf("the four tools have %d bytes", total)
	}
}

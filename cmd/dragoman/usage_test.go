package main

import (
	"context"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/usage"
	"dragoman/sessions"
)

// What turns used is shown by day, model, person or chat, with a total and without a cost
// that nobody knows.
func TestUsageOfTurns(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"Nothing was used from "}, "usage")
	turn := usage.Turn{
		Person: "telegram:6", Chat: channels.MustKey("telegram:6"), At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Messages: []sessions.Message{{Role: sessions.RoleAssistant, Model: "large", Usage: &sessions.Usage{Input: 12345, Output: 7}}},
	}
	if err := w.daemon.store.Count(t.Context(), turn.Counts()...); err != nil {
		t.Fatal(err)
	}
	w.want([]string{"MODEL", "large", "12 345", "total", "no prices are configured"}, "usage", "--by", "model")
	w.want([]string{"PERSON", "telegram:6", "12 345"}, "usage", "--by", "person")
	w.want([]string{`"tool_calls": 0`, `"name": "telegram:6"`, `"days": [`}, "usage", "--by", "chat", "--days", "--json")
	w.want([]string{"Nothing was used of a budget."}, "usage", "--by", "budget")
	code, _, errs := w.run("usage", "--from", "yesterday")
	if code == 0 || errs == "" {
		t.Errorf("a day that is none = %d, %q", code, errs)
	}
}

// shownBudgets are the budgets of a daemon.
type shownBudgets []api.Budget

func (b shownBudgets) All(context.Context) ([]api.Budget, error)        { return b, nil }
func (b shownBudgets) Of(context.Context, string) ([]api.Budget, error) { return b, nil }

// The budgets are shown as they are now.
func TestUsageOfBudgets(t *testing.T) {
	w := newWorld(t)
	w.daemon.budgets = shownBudgets{
		{Of: "person", Name: "telegram:6", Period: "day", Unit: "money", Limit: 2, Used: 1.5, Reserved: 0.25, Share: 0.75, Until: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)},
	}
	w.want([]string{"OF", "person", "telegram:6", "day", "2.00", "1.50", "0.25", "75 %", "2026-03-02 00:00"}, "usage", "--by", "budget")
	w.want([]string{`"share": 0.75`}, "usage", "--by", "budget", "--json")
}

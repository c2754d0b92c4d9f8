package budget_test

import (
	"context"
	"testing"
	"time"

	"dragoman/internal/admission"
	"dragoman/internal/budget"
	"dragoman/sessions"
)

// spent is a sum of money of a job, or of everybody.
func spent(owner, day string, units float64) sessions.Count {
	return sessions.Count{Kind: "spent-cost", Owner: owner, Day: day, N: int64(units * 1e9)}
}

// What is used up says whom to ask: by a name that is known, and to nobody about themselves.
func TestWhomToAsk(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	s := budget.Settings{All: budget.Limits{Day: 2}}
	for _, tt := range []struct{ name, owner, want string }{
		{"Ann", "telegram:42", "ask Ann"},
		{"", "telegram:42", "ask whoever runs me"},
		{"Ann", "telegram:7", "raise limits.budgets"},
		{"Ann", "irc:account:ann", "raise limits.budgets"},
		{"Ann", "", "ask Ann"},
	} {
		r := s.Rule(admission.Setup{
			Sums: &book{all: []sessions.Count{spent("all", "20261129", 2)}}, Zone: berlin, People: family{"telegram:7": "person:x", "irc:account:ann": "person:x"},
			Operator: func(context.Context) (name, identity string) { return tt.name, "telegram:7" },
		})
		got, err := r.Before(t.Context(), admission.Turn{ID: "1", Owner: tt.owner, At: at})
		want := "I have used today's 2.00 for everybody. I go on at 00:00 (Berlin): write again then, or " + tt.want + "."
		if err != nil || got.Say != want {
			t.Errorf("with the name %q, %s reads %q, %v, want %q", tt.name, tt.owner, got.Say, err, want)
		}
	}
}

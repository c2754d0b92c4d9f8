package budget_test

import (
	"context"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/admission"
	"dragoman/internal/budget"
	"dragoman/sessions"
)

// With keep, messages for which nothing is left wait until the budget goes on, and look again
// every hour. Jobs, programs that keep their messages themselves, and turns that have begun
// end, as without it.
func TestBudgetsKeep(t *testing.T) {
	home := channels.MustKey("telegram:42")
	noon := time.Date(2026, 11, 29, 11, 0, 0, 0, time.UTC)
	late := time.Date(2026, 11, 29, 22, 30, 0, 0, time.UTC) // half past eleven in Berlin
	const (
		kept = "I have used today's 2.00 for everybody. I go on at 00:00 (Berlin) and answer you then, or ask whoever runs me."
		ends = "I have used today's 2.00 for everybody. I go on at 00:00 (Berlin): write again then, or ask whoever runs me."
	)
	midnight := time.Date(2026, 11, 30, 0, 0, 0, 0, berlin)
	person := admission.Turn{ID: "1", Key: home, Owner: "telegram:42", Parks: true, At: noon}
	atNight := person
	atNight.At = late
	program := person
	program.Parks = false
	for _, tt := range []struct {
		name string
		turn admission.Turn
		call *admission.Call // nil: before the turn
		want admission.Verdict
	}{
		{"before the turn", person, nil, admission.Verdict{Say: kept, Until: noon.Add(time.Hour), Again: midnight}},
		{"shortly before the end", atNight, nil, admission.Verdict{Say: kept, Until: midnight, Again: midnight}},
		{"before its first call", person, &admission.Call{First: true}, admission.Verdict{Say: kept, Until: noon.Add(time.Hour), Again: midnight}},
		{"before a later call", person, &admission.Call{}, admission.Verdict{Say: ends, Again: midnight}},
		{"a job", admission.Turn{ID: "2", Key: home, Job: "nightly", At: noon}, nil, admission.Verdict{Say: ends, Again: midnight}},
		{"a program", program, nil, admission.Verdict{Say: ends, Again: midnight}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &book{all: []sessions.Count{spent("all", "20261129", 2)}}
			r := rule(budget.Settings{Keep: true, All: budget.Limits{Day: 2}}, b)
			got, err := r.Before(t.Context(), tt.turn)
			if tt.call != nil {
				got, err = r.(admission.Meter).Begin(t.Context(), tt.turn, *tt.call)
			}
			same := got.Say == tt.want.Say && got.Until.Equal(tt.want.Until) && got.Again.Equal(tt.want.Again)
			if err != nil || !same {
				t.Errorf("the rule says %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

// A call that runs on another node is reserved, for whomever it counts.
func TestCallsElsewhereAreReserved(t *testing.T) {
	home := channels.MustKey("telegram:42")
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	two := budget.Limits{Day: 0.1}
	for name, tt := range map[string]struct {
		s     budget.Settings
		there admission.Underway
		waits bool
	}{
		"of everybody":         {budget.Settings{All: two}, admission.Underway{}, true},
		"of the person":        {budget.Settings{Person: two}, admission.Underway{Owner: "irc:ann"}, true},
		"of another person":    {budget.Settings{Person: two}, admission.Underway{Owner: "irc:bob"}, false},
		"of the chat":          {budget.Settings{Chat: two}, admission.Underway{Key: home}, true},
		"of another chat":      {budget.Settings{Chat: two}, admission.Underway{Key: channels.MustKey("telegram:43")}, false},
		"of a job":             {budget.Settings{Job: two}, admission.Underway{Job: "nightly"}, true},
		"of another job":       {budget.Settings{Job: two}, admission.Underway{Job: "weekly"}, false},
		"of no job":            {budget.Settings{Job: two}, admission.Underway{}, false},
		"of little that it is": {budget.Settings{All: budget.Limits{Day: 1}}, admission.Underway{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tt.there.Call = admission.Call{Model: "m", Input: 10}
			r := tt.s.Rule(admission.Setup{
				Sums: &book{}, Shared: true, Zone: berlin, MaxTokens: 10, People: family{"telegram:42": "person:x", "irc:ann": "person:x"},
				Price:     func(_ string, input, output int) float64 { return float64(input+output) / 100 },
				Elsewhere: func(context.Context) ([]admission.Underway, error) { return []admission.Underway{tt.there}, nil },
			})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			turn := admission.Turn{ID: "1", Key: home, Owner: "telegram:42", Job: "nightly", At: at}
			_, err := r.(admission.Meter).Begin(ctx, turn, admission.Call{Model: "m", Input: 10})
			if waits := err != nil; waits != tt.waits {
				t.Errorf("the call waits: %v, %v; want %v", waits, err, tt.waits)
			}
		})
	}
}

package budget_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/admission"
	"dragoman/internal/budget"
	"dragoman/sessions"
)

// Whoever runs Dragoman is warned of the limits that are nobody's alone, at four fifths and
// at the end, with another id on each day.
func TestWarnings(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	s := budget.Settings{
		Person: budget.Limits{Day: 1}, Chat: budget.Limits{Day: 1},
		Job: budget.Limits{Day: 5, Month: 3}, All: budget.Limits{Day: 2, Month: 20},
	}
	for _, tt := range []struct {
		name string
		has  []sessions.Count
		want []admission.Warning
	}{
		{name: "nothing used"},
		{name: "less", has: []sessions.Count{spent("all", "20261129", 1.59)}},
		{name: "a person and a chat", has: []sessions.Count{money("telegram:42", "20261129", 1), money("chat:telegram:42", "20261129", 1)}},
		{
			name: "four fifths of a day", has: []sessions.Count{spent("all", "20261129", 1.68)},
			want: []admission.Warning{{ID: "budget all day little 20261129", Say: "I have used 84 % of today's 2.00 for everybody. The rest is for the time until 00:00 (Berlin)."}},
		},
		{
			name: "all of a day, and four fifths of a month", has: []sessions.Count{spent("all", "20261129", 2), spent("all", "20261102", 15)},
			want: []admission.Warning{
				{ID: "budget all day spent 20261129", Say: "I have used today's 2.00 for everybody. Until 00:00 (Berlin) I answer nobody."},
				{ID: "budget all month little 20261129", Say: "I have used 85 % of this month's 20.00 for everybody. The rest is for the time until 00:00 on 1 December (Berlin)."},
			},
		},
		{
			name: "of a job", has: []sessions.Count{spent("job/menu", "20261115", 3), spent("job/news", "20261115", 1), spent("job/menu", "20261015", 9)},
			want: []admission.Warning{{ID: "budget job/menu month spent 20261129", Say: "I have used this month's 3.00 for the job menu. Until 00:00 on 1 December (Berlin) it is skipped."}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := rule(s, &book{all: tt.has}).(admission.Warner).Warnings(t.Context(), at)
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("Warnings: %v (-want +got):\n%s", err, diff)
			}
		})
	}
	b := &book{all: []sessions.Count{spent("all", "20261129", 2)}}
	list, err := rule(budget.Settings{Person: budget.Limits{Day: 1}}, b).(admission.Warner).Warnings(t.Context(), at)
	if list != nil || err != nil || b.reads > 0 {
		t.Errorf("without such limits: %+v, %v, after %d reads", list, err, b.reads)
	}
}

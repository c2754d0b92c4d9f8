package storetest

import (
	"testing"
	"time"

	"dragoman/sessions"
)

// spent is a message of a day that used these tokens.
func spent(tokens, day, hour int) sessions.Message {
	m := assistant("a")
	m.At = time.Date(2026, 3, day, hour, 0, 0, 0, time.FixedZone("", -3600))
	m.Usage = &sessions.Usage{Input: tokens, Output: 1, Cost: 0.5}
	return m
}

func tops(t *testing.T, r *rig) {
	r.say(t, "x:1", "1", spent(10, 1, 1), spent(15, 1, 1))
	r.say(t, "x:2", "2", spent(30, 1, 1))
	r.say(t, "x:3", "3", spent(5, 1, 1))
	r.enter(t, control("x:1", "4", sessions.ControlNew), sessions.Done)
	r.say(t, "x:1", "5", spent(6, 1, 1))
	for limit, want := range map[int]string{9: "x:1 x:2 x:3 ", 2: "x:1 x:2 ", 0: ""} {
		list, err := r.Top(t.Context(), limit)
		must(t, err)
		got := ""
		for _, c := range list {
			got += c.Key.String() + " "
		}
		if got != want {
			t.Errorf("Top(%d) = %s, want %s", limit, got, want)
		}
	}
}

func days(t *testing.T, r *rig) {
	r.say(t, "x:1", "1", spent(1, 1, 12), spent(2, 1, 22), spent(4, 1, 23), spent(8, 3, 1))
	r.say(t, "x:2", "2", spent(16, 1, 1))
	day := func(n int) time.Time { return time.Date(2026, 3, n, 15, 0, 0, 0, time.UTC) }
	got, err := r.Days(t.Context(), day(1), day(3))
	must(t, err)
	want := []sessions.DayCount{
		{Day: "2026-03-01", Conversations: 2, Messages: 3, Usage: sessions.Usage{Input: 19, Output: 3, Cost: 1.5}},
		{Day: "2026-03-02", Conversations: 1, Messages: 1, Usage: sessions.Usage{Input: 4, Output: 1, Cost: 0.5}},
	}
	same(t, "Days", got, want)
	got, err = r.Days(t.Context(), day(2), day(4))
	must(t, err)
	same(t, "Days", got, append(want[1:], sessions.DayCount{Day: "2026-03-03", Conversations: 1, Messages: 1, Usage: sessions.Usage{Input: 8, Output: 1, Cost: 0.5}}))
	if got, err := r.Days(t.Context(), day(5), day(9)); err != nil || len(got) != 0 {
		t.Errorf("Days = %+v, %v", got, err)
	}
}

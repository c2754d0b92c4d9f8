package heartbeat_test

import (
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/heartbeat"

	"github.com/google/go-cmp/cmp"
)

// What comes is known for a while: in the active hours, and no more than was asked for.
func TestUpcoming(t *testing.T) {
	job := heartbeat.Job{Name: "look", Every: 4 * time.Hour, TimeZone: "UTC", ActiveHours: "08:00-20:00", Target: channels.MustKey("irc:ann"), Prompt: "look"}
	s, err := heartbeat.New([]heartbeat.Job{job}, nil, heartbeat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	next := time.Date(2026, 11, 29, 18, 0, 0, 0, time.UTC)
	until := next.Add(24 * time.Hour)
	var got []string
	for _, due := range s.Upcoming("look", next, until, 100) {
		got = append(got, due.Format("2 15:04"))
	}
	want := []string{"29 18:00", "30 10:00", "30 14:00", "30 18:00"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Upcoming (-want +got):\n%s", diff)
	}
	if got := s.Upcoming("look", next, until, 2); len(got) != 2 {
		t.Errorf("Upcoming of at most 2 has %d", len(got))
	}
	if got := s.Upcoming("another", next, until, 2); got != nil {
		t.Errorf("Upcoming of no job = %v", got)
	}
}

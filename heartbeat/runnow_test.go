package heartbeat_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"dragoman/heartbeat"
)

func TestRunNow(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		j := job(func(j *heartbeat.Job) { j.ActiveHours = "20:00-21:00" })
		s, err := heartbeat.New([]heartbeat.Job{j}, r.ledger, r.o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(12*time.Minute + 345*time.Millisecond)
		if err := errors.Join(s.RunNow(ctx, "j"), s.RunNow(ctx, "j")); err != nil {
			t.Error(err)
		}
		if err := s.RunNow(ctx, "k"); !errors.Is(err, heartbeat.ErrUnknown) {
			t.Errorf("RunNow of an unknown job = %v", err)
		}
		time.Sleep(20 * time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		r.want("01 00:12:00 fired", "01 00:30:00 skipped outside of the active hours 20:00-21:00")
		if len(r.inbox()) != 1 {
			t.Errorf("the inbox holds %d messages, want 1", len(r.inbox()))
		}
	})
}

// Another node fires the job during RunNow.
func TestRunNowBesideAnotherNode(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.run(10*time.Minute, every(time.Hour))
		time.Sleep(51 * time.Minute) // it is due, and nobody was there
		quick := false
		s, err := heartbeat.New([]heartbeat.Job{every(time.Hour)}, &spy{Ledger: r.store, fire: func(time.Time) error {
			if !quick {
				quick = true
				r.run(time.Second, every(time.Hour))
			}
			return nil
		}}, r.o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.RunNow(t.Context(), "j"); err != nil {
			t.Error(err)
		}
		r.run(time.Hour, every(time.Hour))
		r.want("01 01:00:00 fired", "01 01:01:01 fired", "01 02:00:00 fired")
	})
}

// A RunNow that failed has changed nothing: the job is not fired later, and an
// interval continues from where it was.
func TestRunNowThatFails(t *testing.T) {
	for name, tt := range map[string]struct {
		asked time.Duration // after midnight; the first life ends at 10 minutes
		want  []string
	}{
		"before its time": {15 * time.Minute, []string{"01 01:00:00 fired", "01 02:00:00 fired"}},
		"when it was due": {61 * time.Minute, []string{"01 01:00:00 fired", "01 02:00:00 fired"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.run(10*time.Minute, every(time.Hour))
				time.Sleep(tt.asked - 10*time.Minute)
				ctx, cancel := context.WithCancel(t.Context())
				s, err := heartbeat.New([]heartbeat.Job{every(time.Hour)}, &spy{Ledger: r.store, fire: func(time.Time) error {
					cancel() // whoever asked gave up
					return errors.New("disk full")
				}}, r.o)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.RunNow(ctx, "j"); err == nil || !strings.Contains(err.Error(), "disk full") {
					t.Errorf("RunNow = %v, want the failure", err)
				}
				r.run(121*time.Minute-tt.asked, every(time.Hour))
				r.want(tt.want...)
			})
		})
	}
}

func TestRunNowSaysWhyNot(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		s, err := heartbeat.New([]heartbeat.Job{job(func(j *heartbeat.Job) { j.PromptFile = "HEARTBEAT.md" })}, r.ledger, r.o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.RunNow(t.Context(), "j"); err == nil || !strings.Contains(err.Error(), "nothing in HEARTBEAT.md") {
			t.Errorf("RunNow = %v, want that there is nothing to run", err)
		}
		r.want()
	})
}

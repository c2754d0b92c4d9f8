package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var key = channels.MustKey("x:1")

func chat(seq int64, due time.Time) dispatch.Item {
	return dispatch.Item{Key: key, Seq: seq, Lane: dispatch.Chat, Due: due}
}

// TestWakesAtTheTime: handlers are called at once, or at the postponed time to the
// millisecond.
func TestWakesAtTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var calls []time.Duration
		ended := make(chan error, 1)
		go func() {
			ended <- d.Run(ctx, func(context.Context, sessions.Claim) error {
				calls = append(calls, time.Since(began))
				d.Apply([]dispatch.Item{{Key: key, Seq: int64(len(calls)), Gone: true}}, nil)
				return nil
			})
		}()
		d.Apply([]dispatch.Item{chat(1, time.Time{}), chat(2, began.Add(time.Minute)), chat(3, began.Add(3*time.Hour))}, nil)
		time.Sleep(4 * time.Hour) // the bubble's clock, not ours
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if want := []time.Duration{0, time.Minute, 3 * time.Hour}; !slices.Equal(calls, want) {
			t.Errorf("calls at %v, want %v", calls, want)
		}
	})
}

func TestBackoffGrowsAndIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var calls []time.Time
		d.Apply([]dispatch.Item{chat(1, time.Time{})}, nil)
		err := d.Run(ctx, func(context.Context, sessions.Claim) error {
			calls = append(calls, time.Now())
			return errors.New("broken")
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(calls) < 20 || len(calls) > 60 {
			t.Errorf("%d calls in ten minutes", len(calls))
		}
		for i := 1; i < len(calls); i++ {
			if pause := calls[i].Sub(calls[i-1]); pause < 70*time.Millisecond || pause > 30*time.Second {
				t.Errorf("pause %d is %s", i, pause)
			}
		}
	})
}

// TestWallClockSteps: postponed items are found soon after the clock was set forward, though
// no timer fires.
func TestWallClockSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		step := make(chan time.Duration, 1)
		offset := time.Duration(0)
		now := func() time.Time {
			select {
			case offset = <-step:
			default:
			}
			return time.Now().Add(offset)
		}
		d := dispatch.New(dispatch.Options{Now: now})
		ctx, cancel := context.WithCancel(t.Context())
		called := make(chan time.Duration, 1)
		ended := make(chan error, 1)
		go func() {
			ended <- d.Run(ctx, func(context.Context, sessions.Claim) error {
				d.Apply([]dispatch.Item{{Key: key, Seq: 1, Gone: true}}, nil)
				called <- time.Since(began)
				return nil
			})
		}()
		d.Apply([]dispatch.Item{chat(1, began.Add(24*time.Hour))}, nil)
		time.Sleep(time.Second)
		step <- 25 * time.Hour
		if after := <-called; after > time.Minute {
			t.Errorf("found %s after the step", after)
		}
		cancel()
		<-ended
	})
}

// TestBodies: only the first of a lane keeps its body, and a change drops it.
func TestBodies(t *testing.T) {
	d := dispatch.New(dispatch.Options{})
	item := func(seq int64, body any) dispatch.Item {
		return dispatch.Item{Key: key, Seq: seq, Lane: dispatch.Delivery, Body: body}
	}
	d.Apply([]dispatch.Item{item(1, "one"), item(2, "two")}, nil)
	bodies := func(c sessions.Claim) (all []any) {
		for _, it := range d.Items(c.Key, dispatch.Delivery) {
			all = append(all, it.Body)
		}
		return all
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := d.Run(ctx, func(_ context.Context, c sessions.Claim) error {
		defer cancel()
		if got := bodies(c); !slices.Equal(got, []any{"one", nil}) {
			t.Errorf("bodies = %v, want that of the first alone", got)
		}
		d.Apply([]dispatch.Item{item(1, nil)}, nil)
		if got := bodies(c); !slices.Equal(got, []any{nil, nil}) {
			t.Errorf("bodies after a change = %v, want none", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

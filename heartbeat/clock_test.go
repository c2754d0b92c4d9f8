package heartbeat_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/heartbeat"

	"github.com/google/go-cmp/cmp"
)

func TestRestartsDoNotResetAnInterval(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		for range 10 { // ten lives of 13 minutes
			r.run(13*time.Minute, every(time.Hour))
		}
		r.want("01 01:00:00 fired", "01 02:00:00 fired")
	})
}

func TestALateOneDoesNotMoveTheOthers(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		r.run(10*time.Minute, every(time.Hour))
		time.Sleep(time.Hour + 7*time.Minute)
		r.run(time.Hour, every(time.Hour)) // from 01:17 on
		r.want("01 01:00:00 fired", "01 02:00:00 fired")
	})
}

func TestDowntime(t *testing.T) {
	for _, test := range []struct {
		name, catchUp string
		down          time.Duration // from 00:35 on
		want          []string
	}{
		{"short", "", 20 * time.Minute, []string{"01 00:30:00 fired"}},
		{"over one, once", "once", 40 * time.Minute, []string{"01 00:30:00 fired", "01 01:00:00 fired"}},
		{"over one, skip", "skip", 40 * time.Minute, []string{"01 00:30:00 fired", "01 01:00:00 missed it came due while the daemon could not run it"}},
		{"over many, once", "", 5 * time.Hour, []string{"01 00:30:00 fired", "01 01:00:00 missed 9 occurrences came due while the daemon could not run them", "01 05:30:00 fired"}},
		{"over many, skip", "skip", 5 * time.Hour, []string{"01 00:30:00 fired", "01 01:00:00 missed 10 occurrences came due while the daemon could not run them"}},
		{"over many, skip, back in time for the last", "skip", 4*time.Hour + 56*time.Minute, []string{"01 00:30:00 fired", "01 01:00:00 missed 9 occurrences came due while the daemon could not run them", "01 05:30:00 fired"}},
		{"years", "", 5 * 365 * 24 * time.Hour, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				j := job(func(j *heartbeat.Job) { j.CatchUp = test.catchUp })
				r.run(35*time.Minute, j)
				time.Sleep(test.down)
				r.run(time.Minute, j)
				if test.want != nil {
					r.want(test.want...)
				} else if got := r.happened(); len(got) != 3 || !strings.Contains(got[1], "missed at least 999 occurrences") {
					t.Errorf("after years: %q", got)
				}
				before := len(r.happened())
				r.run(40*time.Minute, j)
				if got := len(r.happened()) - before; got < 1 || got > 2 {
					t.Errorf("%d occurrences in the 40 minutes after, want it to go on as before", got)
				}
			})
		})
	}
}

func TestActiveHours(t *testing.T) {
	outside := " skipped outside of the active hours 22:00-01:30"
	bubble(t, func(_ *testing.T, r *rig) {
		r.run(3*time.Hour+time.Minute, job(func(j *heartbeat.Job) { j.ActiveHours = "22:00-01:30" }))
		r.want("01 00:30:00 fired", "01 01:00:00 fired", "01 01:30:00"+outside, "01 02:00:00"+outside, "01 02:30:00"+outside, "01 03:00:00"+outside)
	})
	t.Run("in the job's zone", func(t *testing.T) {
		bubble(t, func(_ *testing.T, r *rig) {
			r.run(61*time.Minute, job(func(j *heartbeat.Job) { j.ActiveHours, j.TimeZone = "09:45-11:00", "Asia/Tokyo" }))
			r.want("01 00:30:00 skipped outside of the active hours 09:45-11:00", "01 01:00:00 fired")
		})
	})
	t.Run("caught up too late", func(t *testing.T) {
		bubble(t, func(_ *testing.T, r *rig) {
			j := job(func(j *heartbeat.Job) {
				j.Every = 0
				j.Cron = "0 8 * * *"
				j.ActiveHours = "07:00-10:00"
			})
			r.run(time.Hour, j)
			time.Sleep(10 * time.Hour)
			r.run(time.Hour, j)
			r.want("01 08:00:00 skipped too late for the active hours 07:00-10:00")
		})
	})
}

func TestClockJumps(t *testing.T) {
	for _, test := range []struct {
		name  string
		job   heartbeat.Job
		shift time.Duration // at 10:05
		want  []string      // until an hour and a half later
	}{
		{"ahead by hours", cron("0 * * * *"), 5 * time.Hour, []string{"01 11:00:00 missed 4 occurrences came due while the daemon could not run them", "01 15:00:00 fired", "01 16:00:00 fired"}},
		{"ahead by a little", cron("0 * * * *"), 56 * time.Minute, []string{"01 11:00:00 fired", "01 12:00:00 fired"}},
		{"back by hours, calendar", cron("0 * * * *"), -5 * time.Hour, []string{}},                   // 06:00 was fired in its time
		{"back by hours, interval", every(time.Hour), -5 * time.Hour, []string{"01 06:05:30 fired"}}, // noticed half a minute later
		{"back by a second after firing", cron("5 10 * * *"), -time.Minute, []string{}},
		{"back by a second, interval", every(time.Hour), -time.Second, []string{"01 11:00:00 fired"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				s, err := heartbeat.New([]heartbeat.Job{test.job}, r.ledger, r.o)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- s.Run(ctx) }()
				time.Sleep(10*time.Hour + 5*time.Minute + time.Second/2)
				synctest.Wait()
				before := r.happened()
				r.shift.Store(int64(test.shift))
				time.Sleep(90 * time.Minute)
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				got := slices.DeleteFunc(r.happened(), func(line string) bool { return slices.Contains(before, line) })
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("after the jump (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestClockWasWrongByYears starts on a machine whose clock is in the far
// future until the network sets it right.
func TestClockWasWrongByYears(t *testing.T) {
	for _, j := range []heartbeat.Job{every(time.Hour), cron("0 * * * *")} {
		bubble(t, func(t *testing.T, r *rig) {
			r.shift.Store(int64(9 * 365 * 24 * time.Hour))
			r.run(90*time.Minute, j)
			r.shift.Store(0)
			before := len(r.happened())
			r.run(3*time.Hour, j)
			if got := len(r.happened()) - before; got < 2 || got > 3 {
				t.Errorf("%d occurrences in the three hours after the clock was set right: %q", got, r.happened())
			}
		})
	}
}

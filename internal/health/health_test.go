package health_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/health"
	"dragoman/sessions"
)

// options look at a store with three messages, of which the oldest is a minute old.
func options() health.Options {
	return health.Options{
		Turns: func() (running, waiting int) { return 2, 1 },
		Queues: func(context.Context) (sessions.Stats, error) {
			return sessions.Stats{Waiting: 3, Answers: 1, Oldest: time.Now().Add(-time.Minute)}, nil
		},
		Channels: func() map[string]bool { return map[string]bool{"web": true, "irc": false} },
	}
}

// running runs w until the test calls stop.
func running(w *health.Watch) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// told are the values that are known, with the place of the first one.
func told(list []*float64) (first int, values []float64) {
	first = -1
	for i, v := range list {
		if v != nil && first < 0 {
			first = i
		}
		if v != nil {
			values = append(values, *v)
		}
	}
	return first, values
}

// Each quarter of a minute has a figure of everything, and what was before the start has
// none.
func TestHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		looks := 0
		o.Looked = func() { looks++ }
		w := health.New(o)
		defer running(w)()
		synctest.Wait()
		for range 4 {
			w.ModelCall(2 * time.Second)
			w.StoreCall("commit turn", 3*time.Millisecond)
			w.StoreCall("history", time.Hour)
			w.Delivered("irc", "deferred")
			time.Sleep(health.Every)
		}
		synctest.Wait()
		if looks != 4 {
			t.Errorf("it was told of %d looks in a minute, want 4", looks)
		}
		from, of := w.Hour()
		if age := time.Since(from); age < time.Hour-health.Every || age > time.Hour {
			t.Errorf("the hour begins %v ago", age)
		}
		for f, want := range map[health.Figure]float64{
			health.TurnsRunning: 2, health.TurnsWaiting: 1, health.Waiting: 3, health.OldestWaiting: 60,
			health.Unsent: 1, health.OldestUnsent: 0, health.Failed: 1, health.ModelCalls: 1, health.ModelP50: 2,
			health.ModelP95: 2, health.Commits: 1, health.CommitP50: 0.003, health.CommitP95: 0.003,
		} {
			list := of(f)
			first, values := told(list)
			if len(list) != health.Kept {
				t.Errorf("figure %d has %d values, want %d", f, len(list), health.Kept)
			}
			last := list[len(list)-1]
			if first < health.Kept-6 || last == nil || *last != want {
				t.Errorf("figure %d = %v from %d on, want %v at the end", f, values, first, want)
			}
		}
		_, memory := told(of(health.Memory))
		if len(memory) > 0 && memory[0] < 1<<20 {
			t.Errorf("the memory is %v bytes", memory[0])
		}
	})
}

// While nothing runs there is a gap, and an hour later nothing is left of what was before.
func TestGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := health.New(options())
		running(w)()
		time.Sleep(30 * time.Minute)
		stop := running(w)
		time.Sleep(time.Minute)
		_, of := w.Hour()
		list := of(health.Waiting)
		first, values := told(list)
		if first > health.Kept-120 || len(values) < 5 || len(values) > 7 {
			t.Errorf("%d values from %d on, want one of half an hour ago, and a minute of them", len(values), first)
		}
		stop()
		time.Sleep(time.Hour)
		_, of = w.Hour()
		_, values = told(of(health.Waiting))
		if values != nil {
			t.Errorf("an hour later there is still %v", values)
		}
	})
}

// If the store does not answer, its figures alone are missing.
func TestStoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.Queues = func(context.Context) (sessions.Stats, error) { return sessions.Stats{}, errors.New("away") }
		w := health.New(o)
		running(w)()
		_, of := w.Hour()
		_, waiting := told(of(health.Waiting))
		_, turns := told(of(health.TurnsRunning))
		if waiting != nil || len(turns) != 1 {
			t.Errorf("waiting = %v, turns = %v; want none and one", waiting, turns)
		}
	})
}

// Half and 95 % of the calls took no longer than what is told, also of very many.
func TestQuantiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := health.New(options())
		for i := range 100 {
			w.ModelCall(time.Duration(100-i) * time.Second)
		}
		running(w)()
		_, of := w.Hour()
		_, p50 := told(of(health.ModelP50))
		_, p95 := told(of(health.ModelP95))
		if !cmp.Equal(p50, []float64{50}) || !cmp.Equal(p95, []float64{95}) {
			t.Errorf("p50 = %v, p95 = %v; want 50 and 95", p50, p95)
		}
		time.Sleep(health.Every)
		for i := range 10_000 {
			w.ModelCall(time.Duration(i) * time.Millisecond)
		}
		running(w)()
		_, of = w.Hour()
		calls := of(health.ModelCalls)[health.Kept-1]
		half := of(health.ModelP50)[health.Kept-1]
		if calls == nil || *calls != 10_000 || half == nil || *half < 3 || *half > 7 {
			t.Errorf("of 10,000 calls up to 10 s long, the figures are %v and %v", calls, half)
		}
	})
}

// What a channel did is counted by half hour, kept when one is over and at the end, and goes
// on from what was kept.
func TestDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		var keeps atomic.Int64
		var kept atomic.Pointer[map[string][]health.HalfHour]
		o.Keep = func(_ context.Context, days map[string][]health.HalfHour) error {
			keeps.Add(1)
			kept.Store(&days)
			return nil
		}
		w := health.New(o)
		stop := running(w)
		w.Accepted("web", "queued")
		w.Accepted("web", "duplicate")
		w.Accepted("web", "refused")
		w.Delivered("web", "sent")
		w.Delivered("web", "deferred")
		time.Sleep(31 * time.Minute)
		w.Accepted("web", "queued")
		stop()
		if n := keeps.Load(); n != 2 {
			t.Errorf("the half hours were kept %d times, want after one and at the end", n)
		}
		after := health.New(options())
		for name, list := range *kept.Load() {
			after.Restore(name, list)
		}
		after.Accepted("web", "queued")
		day := health.Merge(time.Now(), after.Days()["web"])
		first := day[health.HalfHours-2]
		second := day[health.HalfHours-1]
		if first.In != 1 || first.Out != 1 || first.Failed != 1 || first.Up != first.Looks || first.Looks < 100 {
			t.Errorf("the first half hour is %+v", first)
		}
		if second.In != 2 || second.Out != 0 {
			t.Errorf("the second half hour is %+v", second)
		}
		irc := health.Merge(time.Now(), after.Days()["irc"])[health.HalfHours-2]
		if irc.Up != 0 || irc.Looks < 100 {
			t.Errorf("the channel that was never connected is %+v", irc)
		}
	})
}

// A channel that is not connected yet when the daemon starts is in no trouble.
func TestAStartIsNoTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		o := options()
		o.Channels = func() map[string]bool { return map[string]bool{"irc": time.Since(began) > time.Second} }
		w := health.New(o)
		defer running(w)()
		time.Sleep(3*health.Every + 1)
		synctest.Wait()
		now := health.Merge(time.Now(), w.Days()["irc"])[health.HalfHours-1]
		if now.Looks == 0 || now.Up != now.Looks {
			t.Errorf("the first minute is %+v, want some looks, all connected", now)
		}
	})
}

// What was a day ago is neither shown nor restored, and nodes are added up.
func TestMerge(t *testing.T) {
	now := time.Date(2026, 11, 29, 10, 10, 0, 0, time.UTC)
	last := now.Unix() / 1800
	day := health.Merge(now,
		[]health.HalfHour{{N: last - 48, In: 9}, {N: last, In: 1, Looks: 4, Up: 4}, {N: last + 1, In: 9}},
		[]health.HalfHour{{N: last, In: 2, Out: 3, Looks: 4}})
	if len(day) != health.HalfHours {
		t.Fatalf("a day has %d half hours", len(day))
	}
	want := health.HalfHour{N: last, In: 3, Out: 3, Looks: 8, Up: 4}
	if diff := cmp.Diff(want, day[47]); diff != "" {
		t.Errorf("the last half hour (-want +got):\n%s", diff)
	}
	if day[0] != (health.HalfHour{N: last - 47}) {
		t.Errorf("the first half hour is %+v", day[0])
	}
	if !day[0].Begins().Equal(time.Date(2026, 11, 28, 10, 30, 0, 0, time.UTC)) {
		t.Errorf("it begins %v", day[0].Begins())
	}
}

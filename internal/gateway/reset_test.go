package gateway_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

// entries records the entries given to the store, and replaces the parts of it
// that end conversations.
type entries struct {
	gateway.Inbox
	gateway.Conversations
	mu      sync.Mutex
	list    []sessions.Entry
	old     [][]channels.Key // what Expire returns, call by call
	befores []time.Time
	joined  []channels.Key
	fail    error
}

// spyOn makes s part of the store of w.
func (s *entries) spyOn(w *world) *entries {
	s.Inbox, s.Conversations = w.mem, w.mem
	w.store.Inbox, w.store.Conversations = s, s
	return s
}

func (s *entries) Accept(ctx context.Context, e sessions.Entry) (sessions.Acceptance, error) {
	s.mu.Lock()
	s.list = append(s.list, e)
	s.mu.Unlock()
	return s.Inbox.Accept(ctx, e)
}

func (s *entries) Expire(_ context.Context, before time.Time, limit int) ([]channels.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.befores = append(s.befores, before)
	if s.fail != nil || len(s.old) == 0 {
		return nil, s.fail
	}
	keys := s.old[0]
	s.old = s.old[1:]
	return keys[:min(limit, len(keys))], nil
}

func (s *entries) Join(_ context.Context, from, to channels.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined = append(s.joined, from, to)
	return s.fail
}

func (s *entries) failWith(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func (s *entries) last() sessions.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list[len(s.list)-1]
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestResetBefore(t *testing.T) {
	rome := zone(t, "Europe/Rome")
	havana := zone(t, "America/Havana") // its clocks are turned at midnight
	at := func(z *time.Location, s string) time.Time {
		got, err := time.ParseInLocation("2006-01-02 15:04", s, z)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	daily := func(z *time.Location, at time.Duration) gateway.Reset {
		return gateway.Reset{Mode: gateway.ResetDaily, At: at, Zone: z}
	}
	for name, c := range map[string]struct {
		reset gateway.Reset
		now   time.Time
		want  time.Time
	}{
		"zero":               {gateway.Reset{}, at(rome, "2026-11-21 10:00"), time.Time{}},
		"never":              {gateway.Reset{Mode: gateway.ResetNever, After: time.Hour}, at(rome, "2026-11-21 10:00"), time.Time{}},
		"idle":               {gateway.Reset{Mode: gateway.ResetIdle, After: 8 * time.Hour}, at(rome, "2026-11-21 10:00"), at(rome, "2026-11-21 02:00")},
		"idle over a change": {gateway.Reset{Mode: gateway.ResetIdle, After: 8 * time.Hour}, at(rome, "2026-03-29 10:00"), at(rome, "2026-03-29 01:00")},
		"daily, after":       {daily(rome, 4*time.Hour), at(rome, "2026-11-21 10:00"), at(rome, "2026-11-21 04:00")},
		"daily, before":      {daily(rome, 4*time.Hour), at(rome, "2026-11-21 03:59"), at(rome, "2026-11-20 04:00")},
		"daily, at":          {daily(rome, 4*time.Hour), at(rome, "2026-11-21 04:00"), at(rome, "2026-11-21 04:00")},
		"midnight":           {daily(rome, 0), at(rome, "2026-11-21 00:00"), at(rome, "2026-11-21 00:00")},
		"half past":          {daily(rome, 23*time.Hour+30*time.Minute), at(rome, "2026-11-21 23:29"), at(rome, "2026-11-20 23:30")},
		// The day of 23 hours and the day of 25: one border each.
		"spring, the day":       {daily(rome, 4*time.Hour), at(rome, "2026-03-29 05:00"), time.Date(2026, 3, 29, 2, 0, 0, 0, time.UTC)},
		"spring, the day after": {daily(rome, 4*time.Hour), at(rome, "2026-03-30 03:59"), time.Date(2026, 3, 29, 2, 0, 0, 0, time.UTC)},
		"autumn, the day":       {daily(rome, 4*time.Hour), at(rome, "2026-10-25 05:00"), time.Date(2026, 10, 25, 3, 0, 0, 0, time.UTC)},
		"autumn, the day after": {daily(rome, 4*time.Hour), at(rome, "2026-10-26 03:59"), time.Date(2026, 10, 25, 3, 0, 0, 0, time.UTC)},
		// 2026-03-08 00:30 does not exist there.
		"a time that is not": {daily(havana, 30*time.Minute), at(havana, "2026-03-08 12:00"), time.Date(2026, 3, 8, 0, 30, 0, 0, havana)},
		"another zone":       {daily(rome, 4*time.Hour), time.Date(2026, 11, 21, 2, 59, 0, 0, time.UTC), at(rome, "2026-11-20 04:00")},
		"past its midnight":  {daily(rome, 0), time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC), at(rome, "2026-11-21 00:00")},
		"and a time later":   {daily(zone(t, "Asia/Tokyo"), 30*time.Minute), time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 15, 30, 0, 0, time.UTC)},
		"machine's zone":     {daily(nil, 4*time.Hour), at(time.Local, "2026-11-21 10:00"), at(time.Local, "2026-11-21 04:00")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var spy *entries
				w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
					spy = (&entries{}).spyOn(w)
					o.Reset, o.Now = c.reset, func() time.Time { return c.now }
				})
				w.say("1", "hello")
				if got := spy.last().ResetBefore; !got.Equal(c.want) {
					t.Errorf("at %s ResetBefore = %s, want %s", c.now, got, c.want)
				}
			})
		})
	}
}

// Over a year, also where the clocks change at the border itself, there is one
// border a day, and it never moves back.
func TestResetDailyHasOneBorderADay(t *testing.T) {
	for _, c := range []struct {
		zone string
		at   time.Duration
	}{
		{"Europe/Rome", 2*time.Hour + 30*time.Minute},
		{"America/Havana", 30 * time.Minute},
		{"Pacific/Apia", 0},
		{"UTC", 4 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			z := zone(t, c.zone)
			var spy *entries
			now := time.Date(2026, 1, 1, 12, 0, 0, 0, z)
			w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
				spy = (&entries{}).spyOn(w)
				o.Now = func() time.Time { return now }
				o.Reset = gateway.Reset{Mode: gateway.ResetDaily, At: c.at, Zone: z}
			})
			borders, last := 0, time.Time{}
			for ; now.Year() < 2027; now = now.Add(11 * time.Hour) {
				w.say("1", "hello")
				border := spy.last().ResetBefore
				if border.After(now) || border.Before(last) || now.Sub(border) > 26*time.Hour {
					t.Fatalf("%s: at %s the border is %s, the last one was %s", c.zone, now, border, last)
				}
				if !border.Equal(last) {
					borders++
				}
				last = border
				synctest.Wait()
			}
			if borders < 365 || borders > 366 {
				t.Errorf("%s: %d borders in a year", c.zone, borders)
			}
		})
	}
}

// A channel's own mode overrides the general one. An edit begins nothing.
func TestResetOfAChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spy *entries
		w := start(t, func(w *world, b *gateway.Binding, o *gateway.Options) {
			spy = (&entries{}).spyOn(w)
			b.Reset = gateway.ResetIdle
			o.Reset = gateway.Reset{Mode: gateway.ResetNever, After: time.Hour}
		})
		m := w.say("1", "hello")
		if got, want := spy.last().ResetBefore, time.Now().Add(-time.Hour); !got.Equal(want) {
			t.Errorf("ResetBefore = %s, want %s", got, want)
		}
		synctest.Wait()
		edit := w.message("1", "hello you")
		edit.Edits = m.MessageID
		if err := w.in.Accept(t.Context(), edit); err != nil {
			t.Fatal(err)
		}
		if got := spy.last().ResetBefore; !got.IsZero() {
			t.Errorf("ResetBefore of an edit = %s, want none", got)
		}
	})
}

func keys(n int) []channels.Key {
	var list []channels.Key
	for i := range n {
		k, _ := channels.NewKey("net", time.Duration(i).String())
		list = append(list, k)
	}
	return list
}

func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var spy *entries
		var gone []channels.Key
		start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
			spy = (&entries{old: [][]channels.Key{keys(100), keys(3)}}).spyOn(w)
			o.RetentionDays = 30
			o.Events = heardBy(func(e stream.Event) {
				if e.Event == stream.SessionDelete && e.Why == "expired" {
					gone = append(gone, e.Key)
				}
			})
		})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if len(gone) != 103 {
			t.Errorf("%d events for 103 conversations", len(gone))
		}
		if len(spy.befores) != 2 {
			t.Fatalf("Expire was called %d times in the first sweep, want 2", len(spy.befores))
		}
		if got, want := spy.befores[0], began.Add(time.Minute).AddDate(0, 0, -30); !got.Equal(want) {
			t.Errorf("Expire(%s), want %s", got, want)
		}
		spy.failWith(errors.New("disk full")) // is tried again the next day
		time.Sleep(49 * time.Hour)
		synctest.Wait()
		if len(spy.befores) != 4 {
			t.Errorf("Expire was called %d times after two more days, want 4", len(spy.befores))
		}
	})
}

func TestNoRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spy *entries
		start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			spy = (&entries{}).spyOn(w)
		})
		time.Sleep(100 * 24 * time.Hour)
		synctest.Wait()
		if len(spy.befores) != 0 {
			t.Errorf("Expire was called %d times, want never", len(spy.befores))
		}
	})
}

func TestJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spy *entries
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			spy = (&entries{}).spyOn(w)
		})
		joiner := w.in.(channels.Joiner)
		a, b := channels.MustKey("net:1"), channels.MustKey("net:2")
		if err := joiner.Join(t.Context(), a, b); err != nil {
			t.Errorf("Join = %v", err)
		}
		if diff := cmp.Diff([]string{"net:1", "net:2"}, names(spy.joined)); diff != "" {
			t.Errorf("the store was asked to join (-want +got):\n%s", diff)
		}
		if err := joiner.Join(t.Context(), a, a); err != nil || len(spy.joined) != 2 {
			t.Errorf("Join with itself = %v, %d calls", err, len(spy.joined)/2)
		}
		for _, pair := range [][2]channels.Key{{a, channels.MustKey("other:1")}, {channels.MustKey("other:1"), a}} {
			if err := joiner.Join(t.Context(), pair[0], pair[1]); err == nil {
				t.Errorf("Join(%s, %s) of a foreign channel is allowed", pair[0], pair[1])
			}
		}
		spy.fail = errors.New("disk full")
		if err := joiner.Join(t.Context(), a, b); !errors.Is(err, spy.fail) {
			t.Errorf("Join = %v, want the store's error", err)
		}
	})
}

// A join by a network is reported like an operator's, once.
func TestJoinIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard listener
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Events = heardBy(heard.hear) })
		w.say("1", "hello")
		synctest.Wait()
		heard.told()
		for range 2 {
			if err := w.in.(channels.Joiner).Join(t.Context(), channels.MustKey("net:1"), channels.MustKey("net:2")); err != nil {
				t.Fatal(err)
			}
		}
		want := stream.Event{Event: stream.SessionDelete, At: heard.list[0].At, Key: channels.MustKey("net:1"), Why: "joined"}
		if diff := cmp.Diff([]stream.Event{want}, heard.list, cmp.AllowUnexported(channels.Key{})); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func names(list []channels.Key) []string {
	var all []string
	for _, k := range list {
		all = append(all, k.String())
	}
	return all
}

// listener keeps events; the gateway calls it from several goroutines.
type listener struct {
	mu   sync.Mutex
	list []stream.Event
}

func (l *listener) hear(e stream.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e)
}

// heardBy calls a function with each event that hooks can get.
type heardBy func(stream.Event)

func (f heardBy) Publish(e stream.Event) {
	if slices.Contains(stream.ForHooks(), e.Event) {
		f(e)
	}
}

func (heardBy) Watched(channels.Key, stream.Name) bool { return false }

// generations are those that the events so far name, each once, in order.
func (l *listener) generations() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, e := range l.list {
		all = append(all, e.Generation)
	}
	return slices.Compact(all)
}

// told are the events so far as "name outcome", in order.
func (l *listener) told() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, e := range l.list {
		s := string(e.Event)
		if e.Outcome != "" {
			s += " " + e.Outcome
		}
		all = append(all, s)
	}
	l.list = nil
	return all
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard listener
		w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) { o.Events = heardBy(heard.hear) })
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if got := heard.generations(); len(want) > 0 {
				c, err := w.mem.Conversation(t.Context(), channels.MustKey("net:1"))
				if err != nil || c.Generation == "" {
					t.Fatalf("Conversation = %+v, %v", c, err)
				}
				if diff := cmp.Diff([]string{c.Generation}, got); diff != "" {
					t.Errorf("generations of the events %q (-want +got):\n%s", want, diff)
				}
			}
			if diff := cmp.Diff(want, heard.told()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		}
		w.say("1", "hello")
		expect("session_create", "session_save", "turn_done answered")
		w.say("1", "again")
		expect("session_save", "turn_done answered")
		w.say("1", "/new")
		expect()
		w.say("1", "another life")
		expect("session_create", "session_save", "turn_done answered")
		// What /stop ends stands in the conversation, and is no turn of it.
		w.say("1", "/new")
		w.agent.run = slowEcho(time.Hour)
		w.say("1", "never mind")
		synctest.Wait()
		w.say("1", "/stop")
		expect("turn_done cancelled")
		w.agent.run = echo
		w.say("1", "a first answer")
		expect("session_create", "session_save", "turn_done answered")
		w.agent.run = func(context.Context, agent.Turn) (string, error) {
			return "", &agent.ModelError{Kind: agent.ErrorRefused}
		}
		w.say("1", "what now")
		expect("session_save", "turn_done failed")
		w.agent.run = echo
		w.net.failWith(func(channels.Outbound) error { return channels.ErrPermanent })
		w.say("1", "to nobody")
		synctest.Wait()
		e := heard.list[len(heard.list)-1]
		if e.Event != stream.DeliveryDead || e.Delivery == "" || e.At.IsZero() || e.Attempts != 1 || e.Key != channels.MustKey("net:1") {
			t.Errorf("the last event is %+v, want delivery_dead with its id and its one attempt", e)
		}
	})
}

func TestEventOfACompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard listener
		w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
			o.Events = heardBy(heard.hear)
			w.agent.needs = func(h sessions.History) bool { return len(h.Messages) > 3 }
			w.agent.summarize = func(_ context.Context, h sessions.History) (sessions.Summary, error) {
				return sessions.Summary{Text: "short", CoversSeq: h.Messages[1].Seq, Generation: h.Generation}, nil
			}
		})
		w.say("1", "one")
		synctest.Wait()
		w.say("1", "two")
		synctest.Wait()
		// The summary is made beside the end of the turn: either is told first.
		at := slices.IndexFunc(heard.list, func(e stream.Event) bool { return e.Event == stream.ContextCompacted })
		if at < 0 || heard.list[at].CoversSeq == 0 || heard.list[at].Generation == "" {
			t.Fatalf("the events are %+v, want a context_compacted that says what it covers", heard.list)
		}
		// "one", its echo, "two" and its echo; "short" takes the place of two;
		// the scripted agent counts characters.
		got := heard.list[at]
		want := stream.Event{
			Event: stream.ContextCompacted, At: got.At, Key: got.Key, Generation: got.Generation, CoversSeq: got.CoversSeq,
			Messages: 4, Covered: 2, OldTokens: 22, NewTokens: 16, SavingsPercent: 27,
		}
		if got != want {
			t.Errorf("the event is %+v, want %+v", got, want)
		}
	})
}

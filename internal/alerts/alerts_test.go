package alerts_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/alerts"
)

// world is what a watcher sees and what it does.
type world struct {
	fails   map[string]bool
	away    bool   // the conversation cannot be reached
	refused error  // of Tell
	said    string // what the server says about a failure
	told    []string
	events  []string
}

// turn guards the world. Only the test uses it between two calls of pass, and only the
// watcher within one, but the race detector does not know that.
var turn sync.Mutex

// watch runs a watcher with After of 5 minutes for the time of a test.
func watch(t *testing.T) *world {
	w := &world{fails: map[string]bool{}}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	watcher := alerts.New(alerts.Options{
		After: 5 * time.Minute,
		Look: func(context.Context) (all []alerts.Trouble) {
			turn.Lock()
			defer turn.Unlock()
			for id, fails := range w.fails {
				if fails {
					all = append(all, alerts.Trouble{ID: id, Name: id + " fails", Well: id + " works", Why: "it is broken.", Said: w.said})
				}
			}
			return all
		},
		Reachable: func() bool {
			turn.Lock()
			defer turn.Unlock()
			return !w.away
		},
		Tell: func(_ context.Context, _, text string) error {
			turn.Lock()
			defer turn.Unlock()
			if w.refused == nil {
				w.told = append(w.told, text)
			}
			return w.refused
		},
		Changed: func(f alerts.Trouble, failed bool) {
			turn.Lock()
			defer turn.Unlock()
			w.events = append(w.events, f.ID+map[bool]string{true: " failed", false: " back"}[failed])
		},
	})
	go func() { defer close(ended); watcher.Run(ctx) }()
	t.Cleanup(func() { end(); <-ended })
	return w
}

// pass lets d pass. Afterwards the test may change w.
func pass(d time.Duration) {
	func() {
		turn.Lock()
		defer turn.Unlock() // what the test changed comes before what follows
	}()
	time.Sleep(d + time.Millisecond)
	synctest.Wait()
}

// words returns the sent messages without their times.
func (w *world) words() (all []string) {
	for _, text := range w.told {
		var lines []string
		for line := range strings.Lines(text) {
			before, _, _ := strings.Cut(strings.TrimSpace(line), " since ")
			before, _, _ = strings.Cut(before, ". The trouble lasted from ")
			if before != "" {
				lines = append(lines, before)
			}
		}
		all = append(all, strings.Join(lines, " "))
	}
	return all
}

func TestWatcher(t *testing.T) {
	const bad, good = "Something is wrong: ", "Working again: "
	for name, test := range map[string]struct {
		story        func(w *world)
		told, events []string
	}{
		"it fails and comes back": {func(w *world) {
			w.fails["irc"] = true
			pass(time.Hour)
			w.fails["irc"] = false
			pass(time.Hour)
		}, []string{bad + "- irc fails", good + "- irc works"}, []string{"irc failed", "irc back"}},
		"it fails for too short a time": {func(w *world) {
			w.fails["irc"] = true
			pass(4 * time.Minute)
			w.fails["irc"] = false
			pass(time.Hour)
		}, nil, nil},
		"it is well for a moment again and again, and never told so": {func(w *world) {
			for range 30 {
				w.fails["irc"] = true
				pass(2 * time.Minute)
				w.fails["irc"] = false
				pass(30 * time.Second)
			}
		}, []string{bad + "- irc fails"}, []string{"irc failed"}},
		"it fails rarely": {func(w *world) {
			for range 30 {
				w.fails["irc"] = true
				pass(2 * time.Minute)
				w.fails["irc"] = false
				pass(2 * time.Minute)
			}
		}, nil, nil},
		"several at once are one message": {func(w *world) {
			w.fails["irc"] = true
			pass(time.Minute)
			w.fails["model"], w.fails["disk"] = true, true
			pass(time.Hour)
			clear(w.fails)
			pass(time.Hour)
		}, []string{bad + "- irc fails - disk fails - model fails", good + "- irc works - disk works - model works"}, nil},
		"one that has just begun is not in it": {func(w *world) {
			w.fails["irc"] = true
			pass(4 * time.Minute)
			w.fails["model"] = true
			pass(2 * time.Minute)
			w.fails["model"] = false
			pass(2 * time.Minute)
		}, []string{bad + "- irc fails"}, []string{"irc failed"}},
		"the conversation is away, then hears all": {func(w *world) {
			w.away = true
			w.fails["irc"] = true
			w.fails["telegram"] = true
			pass(time.Hour)
			w.fails["telegram"] = false
			pass(time.Hour)
			w.away = false
			pass(time.Minute)
		}, []string{bad + "- irc fails " + good + "- telegram works"}, nil},
		"a message that is refused is tried again": {func(w *world) {
			w.refused, w.fails["irc"] = errors.New("full"), true
			pass(time.Hour)
			w.refused = nil
			pass(time.Hour)
		}, []string{bad + "- irc fails"}, []string{"irc failed"}},
		"one that comes back while nobody can be told, and fails again": {func(w *world) {
			w.away, w.fails["irc"] = true, true
			pass(time.Hour)
			w.fails["irc"] = false
			pass(time.Hour)
			w.fails["irc"], w.away = true, false
			pass(time.Minute)
			if len(w.told) > 0 {
				w.told = append(w.told, "said too early")
			}
			pass(time.Hour)
		}, []string{bad + "- irc fails"}, []string{"irc failed", "irc back", "irc failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := watch(t)
				pass(time.Second)
				test.story(w)
				if diff := cmp.Diff(test.told, w.words()); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.events, w.events); diff != "" && test.events != nil {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Something that fails and recovers all day is reported less and less often.
func TestFlapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t)
		for range 24 * 5 { // 6 minutes each way, for a day
			w.fails["irc"] = true
			pass(6 * time.Minute)
			w.fails["irc"] = false
			pass(6 * time.Minute)
		}
		if len(w.told) > 4 {
			t.Errorf("%d messages in a day: %q", len(w.told), w.words())
		}
	})
}

func TestText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t)
		pass(time.Second)
		w.fails["irc"] = true
		pass(10 * time.Minute)
		at := func(d time.Duration) string {
			return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d).Local().Format("Jan 2 15:04")
		}
		w.fails["irc"] = false
		pass(30 * time.Minute)
		w.fails["irc"], w.said = true, "[click](http://evil.example)"
		pass(10 * time.Minute)
		want := []string{
			"Something is wrong:\n\n- irc fails since " + at(30*time.Second) + ": it is broken.",
			"Working again:\n\n- irc works. The trouble lasted from " + at(30*time.Second) + " to " + at(10*time.Minute) + ".",
			"Something is wrong:\n\n- irc fails since " + at(40*time.Minute+30*time.Second) + ": it is broken: `[click](http://evil.example)`.",
		}
		if diff := cmp.Diff(want, w.told); diff != "" {
			t.Error(diff)
		}
	})
}

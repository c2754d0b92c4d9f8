package reminders_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/heartbeat"
	"dragoman/internal/reminders"
	"dragoman/internal/testkit"
	"dragoman/sessions"
)

// daily is a reminder of each noon.
var daily = heartbeat.Order{Text: "pills", When: heartbeat.When{Repeat: &heartbeat.Rule{Freq: "daily", Times: []string{"12:00"}}}}

// What several were to remind of while nobody could is told in one message, to each maker
// where they asked. Each occurrence has an outcome.
func TestLateOnesInOneMessage(t *testing.T) {
	w := newWorld(t)
	w.make(ann, at("call Bob", "2026-11-28T12:00"))
	w.make(ann, at("buy:\nmilk\nbread", "2026-11-28T13:30"))
	w.make(ann, daily)
	w.make(ann, at("not yet", "2026-12-01T12:00"))
	w.make(annThere, at("bring cake", "2026-11-28T12:30"))
	w.make(annThere, at("bring forks", "2026-11-28T12:40"))
	w.make(bobThere, at("bring tea", "2026-11-28T12:30"))
	w.pass(28 * time.Hour) // 15:00 of the next day
	want(t, strings.Join(w.delivered("telegram:42"), "|"), "3 reminders are late:\n\n"+
		"- r1: call Bob (was due at 12:00 on Saturday 28 November; I was not running)\n"+
		"- r2: buy:\n  milk\n  bread (was due at 13:30 on Saturday 28 November; I was not running)\n"+
		"- r3: pills (was due at 12:00; I was not running; one before it was missed)")
	want(t, strings.Join(w.delivered("telegram:-100"), "|"), "For Ann: 2 reminders are late:\n\n"+
		"- r5: bring cake (was due at 12:30 on Saturday 28 November; I was not running)\n"+
		"- r6: bring forks (was due at 12:40 on Saturday 28 November; I was not running)"+
		"|For Bob: bring tea\n\n(was due at 12:30 on Saturday 28 November; I was not running)")
	want(t, w.outcomes(), "telegram:42/r3 28 11:00 missed it came due while the daemon could not deliver it\n"+
		"telegram:42/r1 28 11:00 ran \ntelegram:43/r1 28 11:30 ran \ntelegram:42/r5 28 11:30 ran \n"+
		"telegram:42/r6 28 11:40 ran \ntelegram:42/r2 28 12:30 ran \ntelegram:42/r3 29 11:00 ran \n")
	w.pass(time.Hour)
	if got := len(w.delivered("telegram:42")) + len(w.delivered("telegram:-100")); got != 3 {
		t.Errorf("an hour later there are %d messages, want the 3", got)
	}
}

// Two nodes tell what is late once.
func TestLateOnesOfSeveralNodes(t *testing.T) {
	w := newWorld(t)
	w.make(ann, at("call Bob", "2026-11-28T12:00"))
	w.make(ann, at("call Eve", "2026-11-28T12:00"))
	w.make(bobThere, at("bring tea", "2026-11-28T12:00"))
	w.now = w.now.Add(3 * time.Hour)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := w.runner("").Round(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.fire("")
	if private, group := w.delivered("telegram:42"), w.delivered("telegram:-100"); len(private) != 1 || len(group) != 1 {
		t.Errorf("delivered %q and %q, want one message each", private, group)
	}
}

// changing is a ledger in which somebody changes their reminder just before it is told.
type changing struct {
	reminders.Ledger
	change func()
}

func (c *changing) Remind(ctx context.Context, m sessions.Reminding) error {
	if c.change != nil {
		c.change()
		c.change = nil
	}
	return c.Ledger.Remind(ctx, m)
}

// One that is cancelled in the moment in which it is told is not told, and the others are.
func TestLateOnesThatChange(t *testing.T) {
	w := newWorld(t)
	w.make(ann, at("call Bob", "2026-11-28T12:00"))
	w.make(ann, at("call Eve", "2026-11-28T12:00"))
	w.now = w.now.Add(3 * time.Hour)
	ledger := &changing{w.store, func() { w.cancel(ann, "r2") }}
	_, err := reminders.NewRunner(w.book, ledger, chats{}, reminders.RunnerOptions{}).Round(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want(t, strings.Join(w.delivered("telegram:42"), "|"), "")
	w.fire("")
	want(t, strings.Join(w.delivered("telegram:42"), "|"), "call Bob\n\n(was due at 12:00; I was not running)")
}

// After a message with several, "snooze 1h" alone could mean any of them.
func TestSnoozeOneOfSeveral(t *testing.T) {
	w := newWorld(t)
	w.make(ann, at("call Bob", "2026-11-28T12:00"))
	w.make(ann, at("call Eve", "2026-11-28T12:00"))
	w.pass(3 * time.Hour)
	may, err := w.book.CanSnooze(t.Context(), ann)
	if err != nil || !may {
		t.Errorf("CanSnooze = %v, %v; want that it is about them", may, err)
	}
	want(t, w.said(w.book.Snooze(t.Context(), ann, "", "1h")), "refused: several reminders came together; say which, like snooze r2 1h")
	want(t, w.said(w.book.Snooze(t.Context(), ann, "r2", "1h")), "“call Eve” comes again. Reminder r3: Saturday 28 November 2026, 15:00 (Europe/Berlin), in 60 minutes, here. Undo: /jobs")
	want(t, w.said(w.book.Snooze(t.Context(), ann, "", "1h")), "“call Bob” comes again. Reminder r4: Saturday 28 November 2026, 15:00 (Europe/Berlin), in 60 minutes, here. Undo: /jobs")
}

// Whoever may talk again has their reminders again: what came due meanwhile is told as late,
// and of one that repeats the newest.
func TestAPauseEndsByItself(t *testing.T) {
	w := newWorld(t)
	w.make(ann, at("call Bob", "2026-11-28T12:00"))
	w.make(ann, daily)
	w.now = w.now.Add(time.Hour)
	w.fire("not allowed")
	want(t, w.list(ann), "- r1: paused (not allowed; it goes on by itself when that changes): call Bob\n"+
		"- r2: paused (not allowed; it goes on by itself when that changes): pills\n")
	all, err := w.book.All(t.Context())
	if err != nil || len(all) != 2 || all[0].Paused != "not allowed; it goes on by itself when that changes" {
		t.Errorf("All = %+v, %v", all, err)
	}
	w.now = w.now.Add(26 * time.Hour)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = w.runner("").Run(ctx) }()
	came := testkit.Poll(10*time.Second, func() bool { return len(w.delivered("telegram:42")) > 0 })
	stop()
	<-ended
	if !came {
		t.Fatal("nothing is delivered")
	}
	want(t, strings.Join(w.delivered("telegram:42"), "|"), "2 reminders are late:\n\n"+
		"- r1: call Bob (was due at 12:00 on Saturday 28 November; it was paused)\n"+
		"- r2: pills (was due at 12:00; it was paused; one before it was missed)")
	want(t, w.outcomes(), "telegram:42/r2 28 11:00 missed it came due while the daemon could not deliver it\n"+
		"telegram:42/r1 28 11:00 ran \ntelegram:42/r2 29 11:00 ran \n")
	want(t, w.list(ann), "- r2: Monday 30 November 2026, 12:00 (Europe/Berlin), in 22 hours, every day at 12:00: pills\n")
}

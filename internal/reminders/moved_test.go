package reminders_test

import (
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/heartbeat"
)

// Somebody who is asked where they are meant their own clock before: what they asked for by the
// clock moves there, whichever way they say it, and what would be over there stays.
func TestTheCityMovesWhatWasAskedFor(t *testing.T) {
	called := agent.Call{Key: ann.Key, Person: ann.Person, Private: true}
	inTokyo := heartbeat.Order{Zone: "Asia/Tokyo"}
	for _, test := range []struct {
		name string
		tell func(w *world) string
		want string
	}{
		{
			"by the model, about the reminder of which it asked",
			func(w *world) string { return w.said(w.book.ChangeJob(t.Context(), called, "r1", inTokyo)) },
			"Changed. Reminder r1: Sunday 29 November 2026, 09:00 (Asia/Tokyo), in 14 hours, here. Undo: /jobs\n" +
				"What was asked for before is on that clock now, too: r4 (Monday 30 November, 08:00).",
		},
		{
			"by the model, with another one",
			func(w *world) string {
				return w.said(w.book.Schedule(t.Context(), called, heartbeat.Order{Text: "tea", Zone: "Asia/Tokyo", When: heartbeat.When{In: "5m"}}))
			},
			"Reminder r5: Saturday 28 November 2026, 19:05 (Asia/Tokyo), in 5 minutes, here. Undo: /jobs\n" +
				"What was asked for before is on that clock now, too: r1 (Sunday 29 November, 09:00), r4 (Monday 30 November, 08:00).",
		},
		{
			"by the command",
			func(w *world) string { return w.said(w.book.KeepZone(t.Context(), called, "Asia/Tokyo")) },
			"From now on I take the times that you say as those of Asia/Tokyo.\n" +
				"What was asked for before is on that clock now, too: r1 (Sunday 29 November, 09:00), r4 (Monday 30 November, 08:00).",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.make(ann, at("call Bob", "2026-11-29T09:00"))
			w.make(ann, heartbeat.Order{Text: "stretch", When: heartbeat.When{In: "30h"}})
			w.make(ann, at("lunch", "2026-11-28T13:00")) // over in Tokyo
			w.make(ann, heartbeat.Order{Text: "bins", When: heartbeat.When{Repeat: &heartbeat.Rule{Freq: "weekly", Days: []string{"mo"}, Times: []string{"08:00"}}}})
			want(t, test.tell(w), test.want)
			w.pass(2 * time.Hour)
			want(t, w.delivered("telegram:42")[0], "lunch")
			w.pass(12*time.Hour - time.Second)
			if got := w.delivered("telegram:42"); got[len(got)-1] == "call Bob" {
				t.Error("it came before it was nine in Tokyo")
			}
			w.pass(time.Second)
			got := w.delivered("telegram:42")
			want(t, got[len(got)-1], "call Bob")
		})
	}
}

// What was said in a known zone stays there, unless that one is meant.
func TestAKnownZoneStays(t *testing.T) {
	w := newWorld(t)
	w.make(ann, heartbeat.Order{Text: "call", When: heartbeat.When{At: "2026-11-29T09:00"}, Zone: "Asia/Tokyo"})
	want(t, w.make(ann, heartbeat.Order{Text: "tea", When: heartbeat.When{In: "1h"}, Zone: "Europe/Rome"}),
		"Reminder r2: Saturday 28 November 2026, 12:00 (Europe/Rome), in 60 minutes, here. Undo: /jobs")
	want(t, w.change(ann, "r1", heartbeat.Order{Zone: "Europe/Rome"}), "Changed. Reminder r1: Sunday 29 November 2026, 09:00 (Europe/Rome), in 22 hours, here. Undo: /jobs")
	w.make(ann, at("lunch", "2026-11-28T13:00"))
	want(t, w.make(ann, heartbeat.Order{Text: "tea", When: heartbeat.When{In: "1h"}, Zone: "Europe/Berlin"}),
		"Reminder r4: Saturday 28 November 2026, 12:00 (Europe/Berlin), in 60 minutes, here. Undo: /jobs")
	want(t, w.change(ann, "r3", heartbeat.Order{Zone: "Asia/Tokyo"}), "refused: the time of reminder r3 is over in Asia/Tokyo; give it another one")
}

// What moved is said also if what was asked for with it is refused.
func TestWhatMovedIsSaidWithARefusal(t *testing.T) {
	w := newWorld(t)
	w.make(ann, at("call Bob", "2026-11-29T09:00"))
	want(t, w.make(ann, heartbeat.Order{Text: "lunch", When: heartbeat.When{At: "2026-11-28T13:00"}, Zone: "Asia/Tokyo"}),
		"refused: 2026-11-28 13:00 is over: it is Saturday 28 November 2026, 19:00 (Asia/Tokyo) now.\n"+
			"What was asked for before is on that clock now, too: r1 (Sunday 29 November, 09:00).")
}

// A group does not read what moved elsewhere.
func TestWhatMovedElsewhereIsNotTold(t *testing.T) {
	w := newWorld(t)
	w.make(ann, at("call Bob", "2026-11-29T09:00"))
	w.make(annThere, at("the choir", "2026-11-29T10:00"))
	want(t, w.make(annThere, heartbeat.Order{Text: "tea", When: heartbeat.When{In: "1h"}, Zone: "Asia/Tokyo"}),
		"Reminder r3: Saturday 28 November 2026, 20:00 (Asia/Tokyo), in 60 minutes, here, for Ann. Undo: /jobs\n"+
			"What was asked for before is on that clock now, too: r2 (Sunday 29 November, 10:00).")
}

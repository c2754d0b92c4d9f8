package reminders_test

import (
	"context"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/reminders"
)

// A model is told once to ask where somebody is, on whichever of their networks. Until they
// say it, each answer says the zone.
func TestAskedOnceForTheZone(t *testing.T) {
	w := newWorld(t)
	w.book = reminders.New(w.store, reminders.Options{
		Now: func() time.Time { return w.now }, Zone: time.UTC,
		Together: func(_ context.Context, owner string) ([]string, error) {
			switch owner {
			case "telegram:42":
				return []string{owner, "irc:ann"}, nil
			case "irc:ann":
				return []string{owner, "telegram:42"}, nil
			}
			return []string{owner}, nil
		},
	})
	tells := func(call agent.Call, when string) string {
		return w.said(w.book.Schedule(t.Context(), call, at("call", when)))
	}
	onTelegram := agent.Call{Key: ann.Key, Person: ann.Person, Private: true}
	onIRC := agent.Call{Key: channels.MustKey("irc:ann"), Person: channels.Person{IDs: []string{"ann"}}, Private: true}
	other := agent.Call{Key: channels.MustKey("telegram:43"), Person: bobThere.Person, Private: true}
	const (
		unknown = "\nWhich zone the person is in is not known, so this is the configured one: say so. "
		ask     = unknown + "Ask which city they are in; change_job of r1 with their zone then moves it to their clock."
		asked   = unknown + "They were asked already, so do not ask."
	)
	want(t, tells(onTelegram, "2026-11-29T09:00"), "Reminder r1: Sunday 29 November 2026, 09:00 (UTC), in 23 hours, here. Undo: /jobs"+ask)
	want(t, tells(onTelegram, "2026-11-29T10:00"), "Reminder r2: Sunday 29 November 2026, 10:00 (UTC), in 24 hours, here. Undo: /jobs"+asked)
	want(t, tells(onIRC, "2026-11-29T09:00"), "Reminder r1: Sunday 29 November 2026, 09:00 (UTC), in 23 hours, here. Undo: /jobs"+asked)
	want(t, w.said(w.book.KeepZone(t.Context(), onIRC, "Asia/Tokyo")), "From now on I take the times that you say as those of Asia/Tokyo.\n"+
		"What was asked for before is on that clock now, too: r1 (Sunday 29 November, 09:00), r1@telegram (Sunday 29 November, 09:00), r2@telegram (Sunday 29 November, 10:00).")
	want(t, tells(onTelegram, "2026-11-29T09:00"), "Reminder r3: Sunday 29 November 2026, 09:00 (Asia/Tokyo), in 14 hours, here. Undo: /jobs")
	want(t, tells(other, "2026-11-29T09:00"), "Reminder r1: Sunday 29 November 2026, 09:00 (UTC), in 23 hours, here. Undo: /jobs"+ask)
}

package reminders_test

import (
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/heartbeat"
	"dragoman/internal/reminders"
)

// A model repeats what it reads, so commands are spelled for the network of the chat.
func TestCommandsAreSpelledForTheNetwork(t *testing.T) {
	w := newWorld(t)
	w.book = reminders.New(w.store, reminders.Options{
		Now: func() time.Time { return w.now }, Zone: time.UTC,
		Spell: func(k channels.Key, text string) string {
			if k.Channel() == "irc" {
				text = strings.ReplaceAll(text, "/jobs", "!jobs")
			}
			return text
		},
	})
	onIRC := asker("irc:ann", "account:ann", "ann")
	onIRC.Private = true
	for _, said := range []string{
		w.make(onIRC, at("tea", "2026-11-29T09:00")),
		w.change(onIRC, "r1", at("", "2026-11-30T09:00")),
		w.cancel(onIRC, "r7"),
	} {
		if !strings.Contains(said, "!jobs") || strings.Contains(said, "/jobs") {
			t.Errorf("on IRC it says %q", said)
		}
	}
}

// What was asked for as "in ten minutes" has a time on the clock of whoever lists it; what was
// said by a clock is shown on that one.
func TestListsShowTheZoneOfWhoReads(t *testing.T) {
	w := newWorld(t)
	w.make(ann, heartbeat.Order{Text: "tea", When: heartbeat.When{In: "10m"}})
	w.make(ann, heartbeat.Order{Text: "call Bob", When: heartbeat.When{At: "2026-11-29T09:00"}, Zone: "Europe/Berlin"})
	if _, _, err := w.book.SetZone(t.Context(), ann, "Asia/Tokyo"); err != nil {
		t.Fatal(err)
	}
	want(t, w.list(ann), "- r1: Saturday 28 November 2026, 19:10 (Asia/Tokyo), in 10 minutes: tea\n"+
		"- r2: Sunday 29 November 2026, 09:00 (Europe/Berlin), in 22 hours: call Bob\n")
}

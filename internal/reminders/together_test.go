package reminders_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/heartbeat"
	"dragoman/internal/reminders"
)

// One person has their reminders and one zone, wherever they ask; the numbers are those of the
// network on which they ask.
func TestRemindersOfOnePerson(t *testing.T) {
	w := newWorld(t)
	ann, annsDesk := asker("telegram:42", "42", "Ann"), asker("irc:ann", "account:ann", "ann")
	annsDesk.Private = true
	bob := asker("telegram:43", "43", "Bob")
	one := []string{"telegram:42", "irc:account:ann"}
	joined := true
	w.book = reminders.New(w.store, reminders.Options{
		Now: func() time.Time { return w.now }, Zone: time.UTC,
		Together: func(_ context.Context, identity string) ([]string, error) {
			if !joined || !slices.Contains(one, identity) {
				return []string{identity}, nil
			}
			return append([]string{identity}, slices.DeleteFunc(slices.Clone(one), func(o string) bool { return o == identity })...), nil
		},
	})
	for a, text := range map[*reminders.Asker]string{&ann: "phone", &annsDesk: "desk", &bob: "bob"} {
		w.make(*a, heartbeat.Order{Text: text, When: heartbeat.When{In: "2h"}})
	}
	w.make(annsDesk, heartbeat.Order{Text: "second", When: heartbeat.When{In: "3h"}})
	list := w.list(ann)
	for _, want := range []string{"r1: ", "r1@irc: ", "r2@irc: ", "phone", "desk", "second", ", on irc: "} {
		if !strings.Contains(list, want) {
			t.Errorf("the list on the phone lacks %q:\n%s", want, list)
		}
	}
	if got := w.list(bob); strings.Contains(got, "phone") || strings.Contains(got, "desk") {
		t.Errorf("bob sees %s", got)
	}
	for _, step := range []struct {
		a            reminders.Asker
		cancel, says string
	}{
		{bob, "r1@irc", "refused: there is no reminder"},
		{ann, "r9@irc", "refused: there is no reminder"},
		{ann, "r2", "refused: you made reminder r2 from another of your accounts: write r2@irc"},
		{ann, "r2@irc", "Cancelled reminder r2@irc: second\n/jobs restore r2@irc brings it back within the hour."},
		{ann, "r1", "Cancelled reminder r1: phone"},
		{ann, "r1", "refused: you made reminder r1 from another of your accounts: write r1@irc"},
		{ann, "r1@IRC:account:ANN", "Cancelled reminder r1@irc: desk"},
		{annsDesk, "r1", "refused: there is no reminder"},
	} {
		if got := w.said(w.book.Cancel(t.Context(), step.a, step.cancel)); !strings.HasPrefix(got, step.says) {
			t.Errorf("cancel %s: %q, want %q", step.cancel, got, step.says)
		}
	}
	zone := func(a reminders.Asker, name string) {
		t.Helper()
		w.now = w.now.Add(time.Minute)
		if _, _, err := w.book.SetZone(t.Context(), a, name); err != nil {
			t.Fatal(err)
		}
	}
	in := func(a reminders.Asker) string {
		t.Helper()
		said := w.make(a, heartbeat.Order{Text: "x", When: heartbeat.When{At: "2026-12-24T18:00"}})
		_, said, _ = strings.Cut(said, "(")
		said, _, _ = strings.Cut(said, ")")
		return said
	}
	zone(ann, "Europe/Rome")
	zone(annsDesk, "Asia/Tokyo")
	if got := in(ann); got != "Asia/Tokyo" {
		t.Errorf("the zone on the phone is %s, want what was said last", got)
	}
	zone(ann, "Europe/Rome")
	if got := in(annsDesk); got != "Europe/Rome" {
		t.Errorf("the zone at the desk is %s, want what was said last", got)
	}
	joined = false
	if got := in(annsDesk); got != "Asia/Tokyo" {
		t.Errorf("the zone at the desk is %s afterwards, want what was said there", got)
	}
	if got := w.list(ann); strings.Contains(got, "irc") {
		t.Errorf("the list on the phone afterwards: %s", got)
	}
}

// Two accounts of one person may be on one network: what is listed is what can be written, and
// what came due is theirs whichever of them made it.
func TestTwoAccountsOnOneNetwork(t *testing.T) {
	w := newWorld(t)
	one := []string{"web:owner", "cli:owner", "web:operator"}
	w.book = reminders.New(w.store, reminders.Options{
		Now: func() time.Time { return w.now }, Zone: time.UTC,
		Together: func(_ context.Context, identity string) ([]string, error) {
			return append([]string{identity}, slices.DeleteFunc(slices.Clone(one), func(o string) bool { return o == identity })...), nil
		},
	})
	private := func(key, id string) reminders.Asker {
		a := asker(key, id, "Ann")
		a.Private = true
		return a
	}
	page := private("web:default", "owner")
	program := private("web:default", "operator")
	terminal := private("cli:direct", "owner")
	w.make(program, heartbeat.Order{Text: "bread", When: heartbeat.When{In: "1h"}})
	w.make(program, heartbeat.Order{Text: "milk", When: heartbeat.When{In: "2h"}})
	w.make(page, heartbeat.Order{Text: "tea", When: heartbeat.When{In: "3h"}})
	w.make(terminal, heartbeat.Order{Text: "cake", When: heartbeat.When{In: "4h"}})
	for a, names := range map[*reminders.Asker]string{
		&page:     "r1@web:operator r2@web:operator r1 r1@cli",
		&program:  "r1 r2 r1@web:owner r1@cli",
		&terminal: "r1@web:operator r2@web:operator r1@web:owner r1",
	} {
		var got []string
		for line := range strings.Lines(w.list(*a)) {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "- "), ": ")
			got = append(got, name)
		}
		want(t, strings.Join(got, " "), names)
	}
	want(t, w.cancel(page, "r2"), "refused: you made reminder r2 from another of your accounts: write r2@web:operator")
	want(t, w.cancel(terminal, "r2"), "refused: you made reminder r2 from another of your accounts: write r2@web:operator")
	want(t, w.cancel(terminal, "r1@web"), "refused: you made reminder r1 from another of your accounts: write r1@web:operator or r1@web:owner")
	moved := w.change(page, "r2@web:operator", heartbeat.Order{When: heartbeat.When{In: "90m"}})
	if !strings.HasPrefix(moved, "Changed. Reminder r2@web:operator: ") {
		t.Errorf("changed: %q, want the name that can be written", moved)
	}

	w.pass(time.Hour)
	snoozed, err := w.book.Snooze(t.Context(), page, "", "1h")
	if err != nil || !strings.HasPrefix(snoozed, "“bread” comes again. Reminder r2: ") {
		t.Errorf("Snooze = %q, %v; want bread again", snoozed, err)
	}
	w.pass(30 * time.Minute)
	if may, err := w.book.CanSnooze(t.Context(), page); !may || err != nil {
		t.Errorf("CanSnooze = %v, %v; want what the program made", may, err)
	}
	snoozed, err = w.book.Snooze(t.Context(), page, "r2@web:operator", "1h")
	if err != nil || !strings.HasPrefix(snoozed, "“milk” comes again. ") {
		t.Errorf("Snooze by its name = %q, %v; want milk again", snoozed, err)
	}
	want(t, w.said(w.book.Snooze(t.Context(), page, "r2@web:operator", "1h")), "refused: reminder r2 was put off before, or is over; /jobs shows what comes")
}

package reminders_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/heartbeat"
	"dragoman/internal/reminders"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"

	"github.com/google/go-cmp/cmp"
)

// world is a book in a store, and a clock.
type world struct {
	t     *testing.T
	now   time.Time
	store *sqlitetest.Store
	book  *reminders.Book
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return w.now }
	w.store = sqlitetest.Open(t, clock)
	w.book = reminders.New(w.store, reminders.Options{
		Now: clock, Zone: berlin,
		Approves: func(_ context.Context, _ channels.Key, who channels.Person) bool { return who.ID() == "9" },
	})
	return w
}

func asker(key, id, name string) reminders.Asker {
	return reminders.Asker{Key: channels.MustKey(key), Private: key == "telegram:"+id, Person: channels.Person{IDs: []string{id}, Name: name}}
}

var (
	ann      = asker("telegram:42", "42", "Ann")
	annThere = asker("telegram:-100", "42", "Ann")
	bobThere = asker("telegram:-100", "43", "Bob")
	eveThere = asker("telegram:-100", "9", "Eve") // an approver
	unknown  = asker("irc:guest", "", "guest")
)

// make makes a reminder, or returns the refusal.
func (w *world) make(a reminders.Asker, o heartbeat.Order) string {
	w.t.Helper()
	return w.said(w.book.Make(w.t.Context(), a, o))
}

func (w *world) said(said string, err error) string {
	w.t.Helper()
	if refusal, refused := errors.AsType[heartbeat.Refusal](err); refused {
		return "refused: " + refusal.Error()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return said
}

func (w *world) list(a reminders.Asker) string {
	w.t.Helper()
	return w.said(w.book.List(w.t.Context(), a))
}

func (w *world) change(a reminders.Asker, name string, o heartbeat.Order) string {
	w.t.Helper()
	return w.said(w.book.Change(w.t.Context(), a, name, o))
}

func (w *world) cancel(a reminders.Asker, name string) string {
	w.t.Helper()
	return w.said(w.book.Cancel(w.t.Context(), a, name))
}

func at(text, when string) heartbeat.Order {
	return heartbeat.Order{Text: text, When: heartbeat.When{At: when}}
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
}

const zoneUnknown = "\nI do not know which city you are in, so this is my own zone. /jobs zone Europe/Rome tells me."

func TestSaidBack(t *testing.T) {
	lastFriday := heartbeat.When{Repeat: &heartbeat.Rule{Freq: "monthly", Days: []string{"-1fr"}, Times: []string{"16:00"}, Until: "2027-06-30"}}
	for _, test := range []struct {
		name  string
		who   reminders.Asker
		order heartbeat.Order
		want  string
	}{
		{"at", ann, at("call Ann", "2026-11-29T09:00"), "Reminder r1: Sunday 29 November 2026, 09:00 (Europe/Berlin), in 22 hours, here. Undo: /jobs" + zoneUnknown},
		{"in", ann, heartbeat.Order{Text: "stretch", When: heartbeat.When{In: "1h30m"}}, "Reminder r1: Saturday 28 November 2026, 12:30 (Europe/Berlin), in 2 hours, here. Undo: /jobs"},
		{
			"in a zone that they say", ann,
			heartbeat.Order{Text: "call", When: heartbeat.When{At: "2026-11-29T09:00"}, Zone: "Asia/Tokyo"},
			"Reminder r1: Sunday 29 November 2026, 09:00 (Asia/Tokyo), in 14 hours, here. Undo: /jobs",
		},
		{
			"repeat", ann,
			heartbeat.Order{Prompt: "the news", When: lastFriday},
			"Reminder r1: every month on the last Friday at 16:00 until 2027-06-30, first Friday 25 December 2026, 16:00 (Europe/Berlin), in 27 days, here. Undo: /jobs" + zoneUnknown,
		},
		{"in a group", annThere, heartbeat.Order{Text: "tea", When: heartbeat.When{In: "5m"}}, "Reminder r1: Saturday 28 November 2026, 11:05 (Europe/Berlin), in 5 minutes, here, for Ann. Undo: /jobs"},
		{"the past", ann, at("call", "2026-11-28T10:59"), "refused: 2026-11-28 10:59 is over: it is Saturday 28 November 2026, 11:00 (Europe/Berlin) now"},
		{"no words", ann, at(" ", "2026-11-29T09:00"), "refused: write as text what to remind of, or as prompt what to do"},
		{"two kinds of words", ann, heartbeat.Order{Text: "a", Prompt: "b", When: heartbeat.When{In: "1h"}}, "refused: write text or prompt, not both: a text is delivered as it is, and a prompt is answered when it is due"},
		{"too long", ann, at(strings.Repeat("a", 5000), "2026-11-29T09:00"), "refused: the text has 5000 bytes, and may have 4000"},
		{"a prompt too often", ann, heartbeat.Order{Prompt: "news", When: heartbeat.When{Every: "30m"}}, "refused: a prompt may run once an hour at most; a text may come more often"},
		{
			"a prompt at times too close", ann,
			heartbeat.Order{Prompt: "news", When: heartbeat.When{Repeat: &heartbeat.Rule{Freq: "daily", Times: []string{"09:00", "09:30"}}}},
			"refused: a prompt may run once an hour at most; a text may come more often",
		},
		{"nobody", unknown, at("call", "2026-11-29T09:00"), "refused: the network does not vouch for who this person is, so a reminder would be nobody's"},
		{"no such zone", ann, heartbeat.Order{Text: "a", Zone: "Local", When: heartbeat.When{In: "1h"}}, `refused: there is no time zone "Local"; write it like Europe/Rome or America/New_York`},
	} {
		t.Run(test.name, func(t *testing.T) {
			want(t, newWorld(t).make(test.who, test.order), test.want)
		})
	}
}

func TestAZoneIsKept(t *testing.T) {
	w := newWorld(t)
	w.make(ann, heartbeat.Order{Text: "call", When: heartbeat.When{In: "1h"}, Zone: "Asia/Tokyo"})
	want(t, w.make(annThere, at("call", "2026-11-29T09:00")), "Reminder r2: Sunday 29 November 2026, 09:00 (Asia/Tokyo), in 14 hours, here, for Ann. Undo: /jobs")
	want(t, w.make(bobThere, at("call", "2026-11-29T09:00")), "Reminder r1: Sunday 29 November 2026, 09:00 (Europe/Berlin), in 22 hours, here, for Bob. Undo: /jobs"+zoneUnknown)
}

// A group does not show what somebody asked for in private, and members see their own.
func TestWhoSeesAndChangesWhat(t *testing.T) {
	w := newWorld(t)
	w.make(ann, at("the doctor", "2026-11-29T09:00"))
	w.make(annThere, at("bring cake", "2026-11-30T09:00"))
	w.make(bobThere, at("bring tea", "2026-11-29T10:00"))

	want(t, w.list(ann), "- r1: Sunday 29 November 2026, 09:00 (Europe/Berlin), in 22 hours: the doctor\n"+
		"- r2: Monday 30 November 2026, 09:00 (Europe/Berlin), in 2 days, in telegram:-100: bring cake (of Ann)\n")
	want(t, w.list(annThere), "- r2: Monday 30 November 2026, 09:00 (Europe/Berlin), in 2 days: bring cake (of Ann)\n")
	want(t, w.list(bobThere), "- r1: Sunday 29 November 2026, 10:00 (Europe/Berlin), in 23 hours: bring tea (of Bob)\n")
	want(t, w.list(eveThere), w.list(bobThere)+w.list(annThere))

	none := "refused: there is no reminder r2 here; /jobs shows the numbers"
	want(t, w.cancel(bobThere, "r2"), none)
	want(t, w.change(bobThere, "r2", at("no cake", "")), none)
	want(t, w.cancel(annThere, "r1"), strings.ReplaceAll(none, "r2", "r1"))
	want(t, w.change(eveThere, "r2", at("no cake", "")), "refused: only its maker may change what it says; when it is due can be changed, or it can be cancelled")
	want(t, w.change(eveThere, "R2", at("", "2026-12-01T09:00")), "Changed. Reminder r2: Tuesday 1 December 2026, 09:00 (Europe/Berlin), in 3 days, here, for Ann. Undo: /jobs"+zoneUnknown)
	want(t, w.change(annThere, "#2", at("bring bread", "")), "Changed. Reminder r2: Tuesday 1 December 2026, 09:00 (Europe/Berlin), in 3 days, here, for Ann. Undo: /jobs"+zoneUnknown)
	want(t, w.cancel(eveThere, "2"), "Cancelled reminder r2: bring bread\n/jobs restore r2 brings it back within the hour.")
	want(t, w.list(annThere), "There are no reminders here.")
}

// What was cancelled comes back for an hour, for those who may cancel it.
func TestRestore(t *testing.T) {
	w := newWorld(t)
	restore := func(a reminders.Asker, name string) string {
		return w.said(w.book.Restore(t.Context(), a, name))
	}
	none := "refused: there is no reminder r1 here; /jobs shows the numbers"
	w.make(annThere, at("bring cake", "2026-11-29T09:00"))
	was := w.list(annThere)
	want(t, restore(annThere, "r1"), none) // it was not cancelled
	for _, a := range []reminders.Asker{annThere, eveThere} {
		w.cancel(a, "r1")
		want(t, w.list(a), "There are no reminders here.")
		want(t, restore(bobThere, "r1"), none)
		want(t, restore(a, "R1"), "Reminder r1 is back: bring cake")
		want(t, w.list(annThere), was)
	}
	w.cancel(annThere, "r1")
	for i := range reminders.MaxPerson {
		w.make(ann, at(fmt.Sprint(i), "2026-11-29T09:00"))
	}
	want(t, restore(annThere, "r1"), "refused: there are 50 reminders already, and nobody may have more; cancel one first")
	w.cancel(ann, "r2")
	w.now = w.now.Add(61 * time.Minute)
	want(t, restore(annThere, "r1"), none)
	w.make(ann, heartbeat.Order{Text: "tea", When: heartbeat.When{In: "5m"}})
	w.cancel(ann, "r52")
	w.now = w.now.Add(10 * time.Minute)
	want(t, restore(ann, "r52"), "refused: its time is over; ask for it anew")
}

// A number is never given twice, so "cancel r1" cannot mean another reminder.
func TestNumbersAreNotGivenAgain(t *testing.T) {
	w := newWorld(t)
	w.make(ann, at("a", "2026-11-29T09:00"))
	w.cancel(ann, "r1")
	if got := w.make(ann, at("b", "2026-11-29T09:00")); !strings.HasPrefix(got, "Reminder r2:") {
		t.Errorf("the second reminder: %q, want r2", got)
	}
	want(t, w.cancel(ann, "r1"), "refused: there is no reminder r1 here; /jobs shows the numbers")
}

func TestLimits(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for i := range reminders.MaxPerson + 5 { // at once
		all.Go(func() {
			_, err := w.book.Make(context.Background(), ann, at(fmt.Sprint(i), "2026-11-29T09:00"))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused++
			}
		})
	}
	all.Wait()
	if lines := strings.Count(w.list(ann), "\n"); lines != reminders.MaxPerson || refused != 5 {
		t.Errorf("%d reminders, %d refused; want %d and 5", lines, refused, reminders.MaxPerson)
	}
	for i := range reminders.MaxChat {
		w.make(asker("telegram:-200", fmt.Sprint(1000+i), "M"), at("x", "2026-11-29T09:00"))
	}
	want(t, w.make(asker("telegram:-200", "7", "M"), at("x", "2026-11-29T09:00")), "refused: this chat has 200 reminders already, and may not have more; cancel one first")
}

// What may come each half hour as a text may not become a task, nor a task come as often.
func TestATaskAfterAChange(t *testing.T) {
	w := newWorld(t)
	const often = "refused: a prompt may run once an hour at most; a text may come more often"
	w.make(annThere, heartbeat.Order{Text: "stretch", When: heartbeat.When{Every: "30m"}})
	want(t, w.change(annThere, "r1", heartbeat.Order{Prompt: "the news"}), often)
	w.make(annThere, heartbeat.Order{Prompt: "the news", When: heartbeat.When{Every: "1h"}})
	want(t, w.change(eveThere, "r2", heartbeat.Order{When: heartbeat.When{Every: "59m"}}), often)
	if got := w.list(annThere); !strings.Contains(got, "every 30 minutes: stretch (of Ann)") || !strings.Contains(got, "every 1 hour: (prompt) the news (of Ann)") {
		t.Errorf("the list is %q, want both as they were", got)
	}
}

func TestSnooze(t *testing.T) {
	w := newWorld(t)
	snooze := func(a reminders.Asker, name, until string) string {
		return w.said(w.book.Snooze(t.Context(), a, name, until))
	}
	w.make(ann, at("call Bob", "2026-11-28T12:00"))
	w.make(ann, heartbeat.Order{Text: "stretch", When: heartbeat.When{Every: "2h"}})
	const nothing = "refused: no reminder of yours has come due here lately"
	want(t, snooze(ann, "", "10m"), nothing)
	w.pass(time.Hour)
	want(t, snooze(bobThere, "", "10m"), nothing)
	want(t, snooze(annThere, "", "10m"), nothing) // it came due elsewhere
	want(t, snooze(ann, "", "later"), "refused: it is not clear how long “later” is: write 10m, 1h30m or tomorrow")
	want(t, snooze(ann, "r2", "10m"), "refused: reminder r2 has not come due yet; tell me in your own words when it should come instead")
	want(t, snooze(ann, "", "10m"), "“call Bob” comes again. Reminder r3: Saturday 28 November 2026, 12:10 (Europe/Berlin), in 10 minutes, here. Undo: /jobs")
	want(t, snooze(ann, "r1", "10m"), "refused: reminder r1 was put off before, or is over; /jobs shows what comes")
	want(t, snooze(ann, "r9", "10m"), nothing)
	w.pass(10 * time.Minute)
	want(t, strings.Join(w.delivered("telegram:42"), "|"), "call Bob|call Bob")
	w.pass(50 * time.Minute)
	want(t, snooze(ann, "", "Tomorrow"), "“stretch” comes again. Reminder r4: Sunday 29 November 2026, 13:00 (Europe/Berlin), in 24 hours, here. Undo: /jobs"+zoneUnknown)
	if got := w.list(ann); strings.Count(got, "stretch") != 2 {
		t.Errorf("the list is %q, want the one that repeats and its snooze", got)
	}
	w.pass(25 * time.Hour)
	if got := w.delivered("telegram:42"); !strings.HasPrefix(got[len(got)-1], "stretch\n\n(was due at 13:00;") {
		t.Errorf("delivered %q", got)
	}
}

// A task that is put off runs again, and is told from words that come again.
func TestSnoozeOfATask(t *testing.T) {
	w := newWorld(t)
	w.make(ann, heartbeat.Order{Prompt: "the news", When: heartbeat.When{In: "1h"}})
	w.pass(time.Hour)
	want(t, w.said(w.book.Snooze(t.Context(), ann, "", "1h")), "The task “the news” runs again. Reminder r2: Saturday 28 November 2026, 13:00 (Europe/Berlin), in 60 minutes, here. Undo: /jobs")
}

// What a reminder is made of stays as tainted, also by who changes it.
func TestTaintIsKept(t *testing.T) {
	w := newWorld(t)
	tainted := ann
	tainted.Taint = []sessions.Origin{sessions.OriginWeb}
	w.make(tainted, at("buy X", "2026-11-29T09:00"))
	tainted.Taint = []sessions.Origin{sessions.OriginFile}
	w.change(tainted, "r1", at("", "2026-11-30T09:00"))
	notes, err := w.store.Notes(t.Context(), sessions.NoteFilter{Kind: reminders.Kind, Name: "r1"})
	if err != nil || len(notes) != 1 {
		t.Fatalf("Notes = %v, %v", notes, err)
	}
	if data := string(notes[0].Data); !strings.Contains(data, `"origins":["web","file"]`) {
		t.Errorf("the note is %s, want the origins web and file", data)
	}
	if due := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC); !notes[0].Due.Equal(due) {
		t.Errorf("the note is due at %s, want %s", notes[0].Due, due)
	}
}

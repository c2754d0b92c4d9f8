package reminders_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/heartbeat"
	"dragoman/internal/reminders"
	"dragoman/sessions"
)

// chats put texts into the outbox as they are.
type chats struct{}

func (chats) Remind(m *sessions.Reminding, name, text string, taint []sessions.Origin) {
	m.Replies = []sessions.Reply{{Label: sessions.Label{Kind: channels.KindJob, Job: m.Occurrence.Job}, Text: text}}
	m.Append = []sessions.Message{{Role: sessions.RoleUser, Content: name + ": " + text, Origins: taint, Synthetic: true}}
}

func (chats) Reminded(channels.Key) {}

// runner makes a runner of the world, which refuses why.
func (w *world) runner(why string) *reminders.Runner {
	return reminders.NewRunner(w.book, w.store, chats{}, reminders.RunnerOptions{
		Refused: func(context.Context, channels.Inbound) (string, error) { return why, nil },
	})
}

// pass lets d pass, in which nobody fires anything, and then fires all that is due.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	w.now = w.now.Add(d)
	w.fire("")
}

func (w *world) fire(why string) {
	w.t.Helper()
	for range 10 {
		sleep, err := w.runner(why).Round(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if sleep > 0 {
			return
		}
	}
	w.t.Fatal("there is always more to fire")
}

// delivered are the texts in the outbox of k.
func (w *world) delivered(k string) (texts []string) {
	w.t.Helper()
	feed, err := w.store.Feed(w.t.Context(), channels.MustKey(k), 0, 50)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, it := range feed {
		if it.From != "person" {
			texts = append(texts, it.Text)
		}
	}
	return texts
}

// outcomes are those of all occurrences, oldest first.
func (w *world) outcomes() string {
	w.t.Helper()
	list, err := w.store.Occurrences(w.t.Context(), "", 50)
	if err != nil {
		w.t.Fatal(err)
	}
	said := ""
	for _, o := range list {
		said = fmt.Sprintf("%s %s %s %s\n", o.Job, o.Due.Format("02 15:04"), o.Outcome, o.Why) + said
	}
	return said
}

// Several runners, as on several nodes, fire one reminder once.
func TestFiredOnce(t *testing.T) {
	w := newWorld(t)
	w.make(ann, at("call Bob", "2026-11-28T12:00"))
	w.now = w.now.Add(time.Hour)
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
	want(t, strings.Join(w.delivered("telegram:42"), "|"), "call Bob")
	want(t, w.outcomes(), "telegram:42/r1 28 11:00 ran \n")
	want(t, w.list(ann), "There are no reminders here.")
}

func TestBeforeItIsDueNothingHappens(t *testing.T) {
	w := newWorld(t)
	w.make(ann, at("call Bob", "2026-11-28T12:00"))
	w.pass(59 * time.Minute)
	want(t, strings.Join(w.delivered("telegram:42"), "|"), "")
}

func TestWhatWasMissed(t *testing.T) {
	for _, test := range []struct {
		name               string
		order              heartbeat.Order
		later              time.Duration
		delivered, outcome string
	}{
		{"in time", at("a", "2026-11-28T12:00"), 61 * time.Minute, "a", "r1 28 11:00 ran \n"},
		{"one, late", at("a", "2026-11-28T12:00"), 3 * time.Hour, "a\n\n(was due at 12:00; I was not running)", "r1 28 11:00 ran \n"},
		{"one, days late", at("a", "2026-11-28T12:00"), 50 * time.Hour, "a\n\n(was due at 12:00 on Saturday 28 November; I was not running)", "r1 28 11:00 ran \n"},
		{
			"the newest of many, less than half a day late", daily, 76 * time.Hour,
			"pills\n\n(was due at 12:00; I was not running; 3 before it were missed)",
			"r1 28 11:00 missed 3 came due while the daemon could not deliver them\nr1 01 11:00 ran \n",
		},
		{"many, more than half a day late", daily, 64 * time.Hour, "", "r1 28 11:00 missed 3 came due while the daemon could not deliver them\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.make(ann, test.order)
			w.pass(test.later)
			want(t, strings.Join(w.delivered("telegram:42"), "|"), test.delivered)
			want(t, strings.ReplaceAll(w.outcomes(), "telegram:42/", ""), test.outcome)
		})
	}
}

// What was missed for too long is told with the next one, once.
func TestMissedOnesAreToldLater(t *testing.T) {
	w := newWorld(t)
	w.make(ann, daily)
	w.pass(64 * time.Hour) // 2 o'clock
	if got := w.list(ann); !strings.Contains(got, "(3 missed)") {
		t.Errorf("the list is %q, want that 3 were missed", got)
	}
	w.pass(9 * time.Hour)
	w.pass(24 * time.Hour)
	want(t, strings.Join(w.delivered("telegram:42"), "|"), "pills\n\n(3 before it were missed)|pills")
}

// In a group it is said whose it is, and its words are not those of who reads them.
func TestInAGroup(t *testing.T) {
	w := newWorld(t)
	w.make(annThere, at("bring cake", "2026-11-28T12:00"))
	w.pass(time.Hour)
	want(t, strings.Join(w.delivered("telegram:-100"), "|"), "For Ann: bring cake")
	h, err := w.store.History(t.Context(), channels.MustKey("telegram:-100"), sessions.HistoryLimit{})
	if err != nil || len(h.Messages) != 1 || fmt.Sprint(h.Messages[0].Origins) != "[others]" {
		t.Errorf("History = %+v, %v; want one message of others", h.Messages, err)
	}
}

// A prompt is a message of its maker, with whose words it has.
func TestAPrompt(t *testing.T) {
	w := newWorld(t)
	tainted := ann
	tainted.Taint = []sessions.Origin{sessions.OriginWeb}
	w.make(tainted, heartbeat.Order{Prompt: "the news", When: heartbeat.When{At: "2026-11-28T12:00"}})
	w.pass(time.Hour)
	w.fire("")
	want(t, w.outcomes(), "telegram:42/r1 28 11:00 fired \n")
	var asked []string
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	err := w.store.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
		p, err := w.store.Pending(ctx, c, 10)
		for _, m := range p.Messages {
			asked = append(asked, fmt.Sprintf("%s%s %s %s %s %s", m.Inbound.Key, m.Inbound.Sender.IDs, m.Inbound.Text, m.Inbound.Origins, m.Job, m.Source))
		}
		stop()
		return err
	})
	if err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	want(t, strings.Join(asked, "|"), "telegram:42[42] the news [web] telegram:42/r1 heartbeat")
}

// Whoever may no longer talk has a paused reminder, and a new time ends the pause.
func TestPaused(t *testing.T) {
	w := newWorld(t)
	w.make(ann, heartbeat.Order{Text: "stretch", When: heartbeat.When{Every: "1h"}})
	w.now = w.now.Add(time.Hour)
	w.fire("not allowed")
	want(t, strings.Join(w.delivered("telegram:42"), "|"), "")
	want(t, w.list(ann), "- r1: paused (not allowed; it goes on by itself when that changes): stretch\n")
	want(t, w.outcomes(), "telegram:42/r1 28 11:00 skipped paused: not allowed\n")
	w.change(ann, "r1", heartbeat.Order{When: heartbeat.When{Every: "1h"}})
	w.pass(time.Hour)
	want(t, strings.Join(w.delivered("telegram:42"), "|"), "stretch")
}

// A reminder whose text does not arrive is paused after three failures.
func TestPausedAfterFailures(t *testing.T) {
	w := newWorld(t)
	w.make(ann, heartbeat.Order{Text: "stretch", When: heartbeat.When{Every: "1h"}})
	for range 5 {
		w.now = w.now.Add(time.Hour)
		w.fire("")
		list, err := w.store.Occurrences(t.Context(), "telegram:42/r1", 1)
		if err != nil {
			t.Fatal(err)
		}
		if list[0].Outcome == "skipped" {
			break
		}
		w.fail(list[0])
	}
	want(t, w.list(ann), "- r1: paused (it failed 3 times in a row): stretch\n")
	if got := w.delivered("telegram:42"); len(got) != 3 {
		t.Errorf("delivered %q, want 3", got)
	}
}

// fail makes o failed, as the store does when its text cannot be delivered.
func (w *world) fail(o sessions.Occurrence) {
	w.t.Helper()
	o.Outcome = "failed"
	n := sessions.Note{Kind: "test", Owner: "x", Name: "x", Due: w.now}
	err := w.store.ChangeNotes(w.t.Context(), n.Kind, n.Owner, func([]sessions.Note) (put []sessions.Note, remove []string, err error) {
		return []sessions.Note{n}, nil, nil
	})
	if err == nil {
		n.Data = nil
		err = w.store.Remind(w.t.Context(), sessions.Reminding{Note: n, Key: channels.MustKey("x:1"), Occurrence: o})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// What cannot be read fires nothing and does not hold up others.
func TestABrokenOne(t *testing.T) {
	w := newWorld(t)
	w.make(ann, at("call Bob", "2026-11-28T12:00"))
	err := w.store.ChangeNotes(t.Context(), reminders.Kind, "telegram:7", func([]sessions.Note) (put []sessions.Note, remove []string, err error) {
		return []sessions.Note{{Name: "r1", Due: w.now, Data: json.RawMessage(`{"when": 1}`)}}, nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.pass(time.Hour)
	want(t, strings.Join(w.delivered("telegram:42"), "|"), "call Bob")
}

// Run wakes for what is made while it sleeps.
func TestRunWakes(t *testing.T) {
	w := newWorld(t)
	w.now = time.Now()
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	clocked := reminders.New(w.store, reminders.Options{})
	all.Go(func() { _ = reminders.NewRunner(clocked, w.store, chats{}, reminders.RunnerOptions{}).Run(ctx) })
	if _, err := clocked.Make(ctx, ann, heartbeat.Order{Text: "soon", When: heartbeat.When{In: "1s"}}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for len(w.delivered("telegram:42")) == 0 {
		if time.Since(began) > 10*time.Second {
			t.Fatal("nothing is delivered")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// With a person, their reminders and their zone are erased; those of others stay.
func TestErased(t *testing.T) {
	w := newWorld(t)
	w.make(ann, heartbeat.Order{Text: "call Bob", When: heartbeat.When{At: "2026-11-28T20:00"}, Zone: "Asia/Tokyo"})
	w.make(annThere, at("bring cake", "2026-11-28T20:00"))
	w.make(bobThere, at("bring tea", "2026-11-28T20:00"))
	_, err := w.store.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "telegram", ID: "42"}}})
	if err != nil {
		t.Fatal(err)
	}
	want(t, w.list(ann), "There are no reminders here.")
	w.pass(9 * time.Hour)
	want(t, strings.Join(w.delivered("telegram:42"), "|"), "")
	want(t, strings.Join(w.delivered("telegram:-100"), "|"), "For Bob: bring tea")
	want(t, w.outcomes(), "telegram:43/r1 28 19:00 ran \n")
	if got := w.make(ann, at("call", "2026-11-30T09:00")); !strings.Contains(got, "(Europe/Berlin)") {
		t.Errorf("after the erasure: %q, want that the zone is forgotten", got)
	}
}

// Also what came due is erased: what became of it, and what a group remembers of it.
func TestErasedAfterwards(t *testing.T) {
	w := newWorld(t)
	w.make(annThere, at("bring cake", "2026-11-28T12:00"))
	w.make(annThere, at("bring forks", "2026-11-28T12:10"))
	w.make(bobThere, at("bring tea", "2026-11-28T12:00"))
	w.pass(5 * time.Hour)
	_, err := w.store.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "telegram", ID: "42"}}})
	if err != nil {
		t.Fatal(err)
	}
	want(t, w.outcomes(), "telegram:43/r1 28 11:00 ran \n")
	h, err := w.store.History(t.Context(), channels.MustKey("telegram:-100"), sessions.HistoryLimit{})
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, m := range h.Messages {
		said += m.Content + "|"
	}
	want(t, said, "[erased]|r1: For Bob: bring tea\n\n(was due at 12:00; I was not running)|")
}

// A reminder comes when the clocks of its zone say so, on days when they jump and on one
// that is no day.
func TestClocksThatJump(t *testing.T) {
	for _, test := range []struct{ zone, now, at, due string }{
		{"Europe/Berlin", "2027-03-27T12:00:00Z", "2027-03-28T02:30", "2027-03-28T01:00:00Z"},
		{"Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T02:30", "2026-10-25T00:30:00Z"},
		{"America/New_York", "2027-03-13T12:00:00Z", "2027-03-14T02:30", "2027-03-14T07:00:00Z"},
		{"America/New_York", "2026-10-31T12:00:00Z", "2026-11-01T01:30", "2026-11-01T05:30:00Z"},
		{"Australia/Lord_Howe", "2027-10-02T00:00:00Z", "2027-10-03T02:10", "2027-10-02T15:30:00Z"},
		{"Pacific/Apia", "2011-12-29T12:00:00Z", "2011-12-30T09:00", "2011-12-30T10:00:00Z"},
	} {
		t.Run(test.zone+" "+test.at, func(t *testing.T) {
			w := newWorld(t)
			w.now, _ = time.Parse(time.RFC3339, test.now)
			due, _ := time.Parse(time.RFC3339, test.due)
			said := w.make(ann, heartbeat.Order{Text: "up", Zone: test.zone, When: heartbeat.When{At: test.at}})
			w.pass(due.Sub(w.now) - time.Second)
			want(t, strings.Join(w.delivered("telegram:42"), "|"), "")
			w.pass(time.Second)
			if got := w.delivered("telegram:42"); len(got) != 1 || got[0] != "up" {
				t.Errorf("delivered %q at %s, want it now; it was said: %s", got, test.due, said)
			}
		})
	}
}

// Samoa had no 30 December 2011. Each due time of a repeat over it has one outcome, whether
// the daemon runs through the night or not: what was due twice on that day comes once, when the
// day is over.
func TestALostDay(t *testing.T) {
	twice := heartbeat.Order{Text: "up", Zone: "Pacific/Apia", When: heartbeat.When{Repeat: &heartbeat.Rule{Freq: "daily", Times: []string{"12:00", "15:00"}}}}
	for _, test := range []struct {
		name                string
		step                time.Duration
		delivered, outcomes string
	}{
		{"awake", 10 * time.Minute, "up|up|up|up|up", "r1 29 22:00 ran \nr1 30 01:00 ran \nr1 30 10:00 ran \nr1 30 22:00 ran \nr1 31 01:00 ran \n"},
		{
			"asleep", 40 * time.Hour, "up\n\n(was due at 15:00; I was not running; 4 before it were missed)",
			"r1 29 22:00 missed 4 came due while the daemon could not deliver them\nr1 31 01:00 ran \n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.now = time.Date(2011, 12, 29, 9, 30, 0, 0, time.UTC)
			w.make(ann, twice)
			for range 40 * time.Hour / test.step {
				w.pass(test.step)
			}
			want(t, strings.Join(w.delivered("telegram:42"), "|"), test.delivered)
			want(t, strings.ReplaceAll(w.outcomes(), "telegram:42/", ""), test.outcomes)
		})
	}
}

// A clock that is set back repeats nothing, and one that is set ahead loses nothing.
func TestAClockThatIsSet(t *testing.T) {
	w := newWorld(t)
	w.make(ann, daily)
	w.pass(time.Hour)
	w.pass(-30 * time.Minute)
	w.pass(30 * time.Minute)
	want(t, strings.Join(w.delivered("telegram:42"), "|"), "pills")
	w.pass(24*time.Hour + time.Minute)
	want(t, strings.Join(w.delivered("telegram:42"), "|"), "pills|pills")
}

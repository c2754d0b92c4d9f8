package gateway_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/heartbeat"
	"dragoman/internal/gateway"
	"dragoman/internal/reminders"
	"dragoman/sessions"
)

// remind lets a reminder of a prompt come due in the chat of person.
func (w *world) remind(person, prompt string) {
	w.t.Helper()
	n := sessions.Note{Kind: "reminder", Owner: "net:" + person, Name: "r1", Due: time.Now().Truncate(time.Second)}
	err := w.mem.ChangeNotes(w.t.Context(), n.Kind, n.Owner, func([]sessions.Note) (put []sessions.Note, remove []string, err error) {
		return []sessions.Note{n}, nil, nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	k := channels.MustKey("net:" + person)
	err = w.mem.Remind(w.t.Context(), sessions.Reminding{
		Note: n, Key: k, Occurrence: sessions.Occurrence{Job: n.Owner + "/r1", Due: n.Due, Outcome: "fired"},
		Message: &channels.Inbound{
			Key: k, ID: "reminder:" + n.Due.String(), Sender: channels.Person{IDs: []string{person}}, Private: true,
			Addressed: true, Text: prompt, Origins: []channels.Origin{sessions.OriginWeb},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
}

// A prompt that was scheduled by talking runs in its chat, without history, as its maker,
// who is no operator. The conversation remembers what it said.
func TestAPromptOfAReminder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
			o.Heartbeats = jobs{"watch": channels.MustKey("net:1")}
		})
		var ran []agent.Turn
		w.agent.run = func(_ context.Context, turn agent.Turn) (string, error) {
			ran = append(ran, turn)
			return "it is sunny", nil
		}
		w.say("1", "hello")
		time.Sleep(time.Minute)
		w.remind("1", "the weather")
		got := ran[len(ran)-1]
		if inputs(got) != "the weather" || len(got.History.Messages) > 0 || got.Person.ID() != "1" || got.Operator || got.MayUseTools == nil {
			t.Errorf("the turn is %+v, want the prompt alone, as of its maker", got)
		}
		if !slices.Equal(got.Input[0].Origins, []sessions.Origin{sessions.OriginWeb}) {
			t.Errorf("its words have the origins %v, want web", got.Input[0].Origins)
		}
		list, err := w.mem.Occurrences(t.Context(), "net:1/r1", 5)
		if err != nil || len(list) != 1 || list[0].Outcome != "ran" {
			t.Errorf("Occurrences = %+v, %v; want that it ran", list, err)
		}
		const note = "user: [The reminder r1 came due, and this was written here:]\nit is sunny"
		if all := w.transcript("1"); strings.Count(strings.Join(all, "|"), note) != 1 {
			t.Errorf("the transcript is %q, want %q in it once", all, note)
		}
		w.say("1", "and tomorrow?")
		time.Sleep(time.Minute)
		synctest.Wait()
		if last := inputs(ran[len(ran)-1]); last != "and tomorrow?" {
			t.Errorf("the next turn is asked %q", last)
		}
	})
}

// together makes net:1 and net:7 accounts of one person.
func together(_ context.Context, identity string) ([]string, error) {
	switch identity {
	case "net:1":
		return []string{"net:1", "net:7"}, nil
	case "net:7":
		return []string{"net:7", "net:1"}, nil
	}
	return []string{identity}, nil
}

// booked starts a world with reminders, and a clock that the runner of them follows.
func booked(t *testing.T) (*world, *reminders.Book) {
	var book *reminders.Book
	w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
		book = reminders.New(w.mem, reminders.Options{Zone: time.UTC, Together: together})
		o.Reminders = book
		o.Heartbeats = jobs{"watch": channels.MustKey("net:1")}
	})
	go func() {
		_ = reminders.NewRunner(book, w.mem, w.gw, reminders.RunnerOptions{}).Run(t.Context())
	}()
	return w, book
}

// schedule makes a reminder of person in k.
func schedule(t *testing.T, book *reminders.Book, k, person string, private bool, o heartbeat.Order) {
	t.Helper()
	_, err := book.Make(t.Context(), reminders.Asker{Key: channels.MustKey(k), Person: channels.Person{IDs: []string{person}}, Private: private}, o)
	if err != nil {
		t.Fatal(err)
	}
}

// What people type about their reminders, with and without a slash.
func TestRemindersByCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, book := booked(t)
		for _, step := range []struct{ say, want string }{
			{"/jobs", "There are no reminders here.\n\nAsk me for one in your own words, like “remind me tomorrow at nine”. /jobs cancel r1 removes the one listed as r1. /jobs zone Europe/Rome tells me where you are."},
			{"/snooze 1h", "No reminder of yours has come due here lately."},
			{"snooze 1h", "echo snooze 1h"},
			{"/jobs zone Mars", `There is no time zone "Mars"; write it like Europe/Rome or America/New_York.`},
			{"/jobs zone Europe/Rome", "From now on I take the times that you say as those of Europe/Rome."},
			{"/jobs help", "Write /jobs to see your reminders, /jobs cancel r1 to remove one, /jobs restore r1 to bring it back within the hour, or /jobs zone Europe/Rome to tell me where you are."},
			{"/snooze", "Write for how long after the command: /snooze 10m, /snooze 1h or /snooze tomorrow."},
		} {
			w.hears(step.say, step.want)
		}
		schedule(t, book, "net:1", "1", true, heartbeat.Order{Text: "call Ann", When: heartbeat.When{In: "1h"}})
		time.Sleep(61 * time.Minute)
		synctest.Wait()
		if got := w.net.texts("1"); got[len(got)-1] != "call Ann" {
			t.Fatalf("the person reads %q", got)
		}
		w.hears("Snooze 10m", "“call Ann” comes again. Reminder r2: Saturday 1 January 2000, 02:")
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if got := w.net.texts("1"); got[len(got)-1] != "call Ann" {
			t.Errorf("after ten minutes the person reads %q", got)
		}
		w.hears("/snooze r2 tomorrow", "“call Ann” comes again. Reminder r3: Sunday 2 January 2000, 02:")
		w.hears("/jobs cancel r3", "Cancelled reminder r3: call Ann\n/jobs restore r3 brings it back within the hour.")
		w.hears("/jobs restore r3", "Reminder r3 is back: call Ann")
		w.hears("/jobs", "- r3: Sunday 2 January 2000, 02:")
		// The conversation has what came due, so no turn is told again.
		if got := w.ask("1", "thanks"); got != "thanks" {
			t.Errorf("the model is asked %q", got)
		}
		if all := strings.Join(w.transcript("1"), "|"); strings.Count(all, "came due") != 2 {
			t.Errorf("the transcript is %q, want both in it", all)
		}
	})
}

// hears says text as person 1 and wants an answer that begins with want.
func (w *world) hears(text, want string) {
	w.t.Helper()
	w.say("1", text)
	time.Sleep(10 * time.Second)
	synctest.Wait()
	got := w.net.texts("1")
	if len(got) == 0 || !strings.HasPrefix(got[len(got)-1], want) {
		w.t.Errorf("to %q the person reads %q, want %q", text, got, want)
	}
}

// Buttons under a delivered reminder are its maker's, whichever account presses.
func TestButtonsOfAReminder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, book := booked(t)
		schedule(t, book, "net:1", "1", true, heartbeat.Order{Text: "call Ann", When: heartbeat.When{In: "1h"}})
		time.Sleep(61 * time.Minute)
		synctest.Wait()
		sent := w.net.sent[len(w.net.sent)-1]
		var labels []string
		for _, c := range sent.Choices {
			labels = append(labels, c.Label)
		}
		if !slices.Equal(labels, []string{"10 min", "1 hour", "Tomorrow"}) {
			t.Fatalf("the buttons are %q", labels)
		}
		press := channels.Inbound{
			Key: sent.Key, ID: "press1", Private: true, Addressed: true, Sender: channels.Person{IDs: []string{"2"}},
			Text: "/snooze " + sent.Choices[0].Subject,
		}
		say, err := w.in.(channels.Presser).Press(t.Context(), press)
		if err != nil || say != "This reminder is somebody else's." {
			t.Errorf("another person's press: %q, %v", say, err)
		}
		press.Sender.IDs = []string{"7"}
		for _, id := range []string{"press2", "press3"} { // a double tap
			press.ID = id
			_, err = w.in.(channels.Presser).Press(t.Context(), press)
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		got := strings.Join(w.net.texts("1"), "|")
		if strings.Count(got, "in 10 minutes") != 1 || !strings.HasSuffix(got, "Reminder r1 was put off before, or is over; /jobs shows what comes.") {
			t.Errorf("the person reads %q, want one reminder put off", got)
		}
	})
}

package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// remembers runs a world whose memory is its store.
func remembers(w *world, _ *gateway.Binding, o *gateway.Options) {
	o.Memory = people.Memory{Facts: w.mem}
}

// A person sees and changes what is remembered about them, and nobody else.
func TestMemoryOfAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, remembers)
		for _, step := range []struct{ who, typed, says string }{
			{"1", "/memory", "I remember nothing about you yet. Write what I should remember after the command, like /remember The bins are collected on Fridays."},
			{"1", "/remember", "Write what I should remember after the command, like /remember The bins are collected on Fridays."},
			{"1", "/remember  I like\n tea ", "I will remember it, as #1. /forget 1 takes it back."},
			{"1", "/remember I like tea.", "I will remember it, as #1. /forget 1 takes it back."},
			{"1", "/remember The bins", "I will remember it, as #2. /forget 2 takes it back."},
			{"2", "/remember A secret", "I will remember it, as #3. /forget 3 takes it back."},
			{"1", "/memory", "This is what I remember about you, the newest first:\n\n- #2, 1 January 2000: The bins\n- #1, 1 January 2000: I like tea\n\n/forget 2 makes me forget one, /remember followed by a sentence adds one, /memory pin 2 keeps one in view."},
			{"1", "/forget 3", "There is no #3 here; /memory shows the numbers."},
			{"1", "/forget tea", "Write the number of what I should forget after the command, as /memory shows it: /forget 12"},
			{"1", "/forget #1", "I have forgotten #1: I like tea\n\n/undo takes that back, for 30 days."},
			{"1", "/forget 1", "There is no #1 here; /memory shows the numbers."},
			{"2", "/undo", "There is nothing to take back: I have neither replaced nor forgotten anything here within the last 30 days."},
			{"1", "/undo", "I remember this again:\n\n- #1, 1 January 2000: I like tea"},
			{"1", "/remember I like green tea", "I will remember it, as #4. /forget 4 takes it back.\n\nI also remember something like it. If that is no longer true, make me forget it:\n\n- /forget 1: “I like tea” (1 January 2000)"},
			{"1", "/memory pin #1", "#1 is pinned: it comes first among what I know. /memory unpin 1 takes that back."},
			{"1", "/memory pin 3", "There is no #3 here; /memory shows the numbers."},
			{"1", "/memory tea", "Write the number of what I should keep in view, as /memory shows it: /memory pin 12 or /memory unpin 12"},
			{"1", "/forget 4", "I have forgotten #4: I like green tea\n\n/undo takes that back, for 30 days."},
			{"1", "/forget 2", "I have forgotten #2: The bins\n\n/undo takes that back, for 30 days."},
			{"1", "/memory", "This is what I remember about you, the newest first:\n\n- #1, 1 January 2000, pinned: I like tea\n\n/forget 1 makes me forget one, /remember followed by a sentence adds one, /memory pin 1 keeps one in view."},
			{"1", "/memory unpin 1", "#1 is no longer pinned."},
			{"1", "/remember " + strings.Repeat("x", 2001), "That is too long for one thing to remember (2001 bytes; at most 2000 fit)."},
		} {
			w.say(step.who, step.typed)
			synctest.Wait()
			if got := w.lastText(step.who); got != step.says {
				t.Errorf("%.40s: it says %q, want %q", step.typed, got, step.says)
			}
		}
		if n := w.agent.count(); n != 0 {
			t.Errorf("the model was asked %d times, want never", n)
		}
	})
}

// The memory of a shared chat belongs to the chat, and a person's is not shown there.
func TestMemoryOfASharedChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, remembers)
		w.say("1", "/remember A secret")
		for _, typed := range []string{"/memory", "/remember We meet on Mondays", "/memory"} {
			m := w.message("group", typed)
			m.Private, m.Addressed = false, true
			m.Sender = channels.Person{IDs: []string{"1"}, Name: "P1"}
			w.accept(m)
			synctest.Wait()
		}
		got := strings.Join(w.net.texts("group"), "|")
		if strings.Contains(got, "secret") || !strings.Contains(got, "about this chat yet") || !strings.Contains(got, "We meet on Mondays\n") {
			t.Errorf("the chat reads %q", got)
		}
	})
}

// What a network hands in again after a crash changes nothing, not even in the meantime.
func TestMemoryCommandsAreCarriedOutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, remembers)
		first := w.say("1", "/remember I like tea")
		synctest.Wait()
		second := w.say("1", "/forget 1")
		synctest.Wait()
		for _, m := range []channels.Inbound{first, second} {
			if err := w.in.Accept(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		facts, err := w.mem.Recall(t.Context(), sessions.PersonScope("net", "1"), "", 9)
		if len(facts) != 0 || err != nil {
			t.Errorf("it remembers %v, %v, want nothing", facts, err)
		}
		if got := w.net.texts("1"); len(got) != 2 {
			t.Errorf("the person reads %q, want two answers", got)
		}
	})
}

// brokenMemory cannot be read or changed.
type brokenMemory struct{ people.Memory }

func (brokenMemory) Recall(context.Context, string, string, int) ([]sessions.Fact, error) {
	return nil, errors.New("disk")
}

func (brokenMemory) Remember(context.Context, string, sessions.NewFact) (sessions.Kept, error) {
	return sessions.Kept{}, errors.New("disk")
}

func (brokenMemory) UndoFacts(context.Context, string) (sessions.UndoneFacts, error) {
	return sessions.UndoneFacts{}, errors.New("disk")
}

func (brokenMemory) PinFact(context.Context, string, int64, bool) error { return errors.New("disk") }

func TestAMemoryThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Memory = brokenMemory{} })
		for i, typed := range []string{"/memory", "/remember tea", "/forget 1", "/undo", "/memory pin 1"} {
			w.say("1", typed)
			synctest.Wait()
			if got := w.net.texts("1"); len(got) != i+1 || got[i] != "Sorry, I could not reach my memory. Please try again later." {
				t.Errorf("%s: %q", typed, got)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.say("1", "/memory")
		w.expect("1", "I have no memory beyond this conversation.")
	})
}

// A long memory is cut, and says so.
func TestALongMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, remembers)
		for i := range 60 {
			if _, err := w.mem.Remember(t.Context(), sessions.PersonScope("net", "1"), sessions.NewFact{Text: fmt.Sprint("fact ", i)}); err != nil {
				t.Fatal(err)
			}
		}
		w.say("1", "/memory")
		synctest.Wait()
		if got := strings.Join(w.net.texts("1"), "\n"); !strings.Contains(got, "fact 59") || strings.Contains(got, "fact 9\n") || !strings.Contains(got, "- and 10 older ones") {
			t.Errorf("it says %q", got)
		}
	})
}

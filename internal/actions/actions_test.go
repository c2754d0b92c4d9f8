package actions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/internal/actions"
	"dragoman/internal/testkit"
	"dragoman/sessions"
)

// Two answers at once, through two books as on two nodes, have one outcome.
func TestTwoAnswersAtOnce(t *testing.T) {
	w := newWorld(t)
	for round := range 20 {
		w.turn.ID = fmt.Sprint("telegram:42#", round)
		if got := w.said(); got != "ask" {
			t.Fatalf("the guard says %q", got)
		}
		code := w.question().Code
		answers := []actions.Answer{actions.AllowOnce, actions.Deny}
		results := make([]actions.Outcome, 2)
		var wait sync.WaitGroup
		for i := range 2 {
			book := actions.New(w.store, w.o)
			wait.Go(func() {
				o, err := book.Decide(t.Context(), ann, actions.Ref{Chat: private, Text: code, Private: true}, answers[i])
				if err != nil {
					t.Error(err)
				}
				results[i] = o
			})
		}
		wait.Wait()
		first := 0
		if results[1].Result == actions.Decided {
			first++
		}
		second := results[1-first]
		if results[first].Result != actions.Decided || second.Result != actions.Before || second.Question.State != results[first].Question.State {
			t.Fatalf("two answers have the outcomes %+v", results)
		}
		want := map[actions.Answer]string{actions.AllowOnce: "run", actions.Deny: denied}[answers[first]]
		if got := w.said(); got != want {
			t.Errorf("after %s the guard says %q, want %q", answers[first], got, want)
		}
	}
}

// The second press says what was decided, and when.
func TestASecondAnswer(t *testing.T) {
	w := newWorld(t)
	w.said()
	code := w.question().Code
	for range 2 { // the second time, nothing is new
		if err := w.book.Shown(t.Context(), private, w.question().ID, "m1"); err != nil || w.question().Message != "m1" {
			t.Errorf("Shown = %v, by the message %q", err, w.question().Message)
		}
	}
	w.later(3 * time.Minute)
	o := w.answer(ann, code, actions.AllowOnce)
	if want := "web_fetch is allowed by Ann at 14:03."; o.Say() != want {
		t.Errorf("the answer is %q, want %q", o.Say(), want)
	}
	if len(o.Due) != 1 || o.Due[0] != "in/telegram:42/1" {
		t.Errorf("due are %q, want the turn's item", o.Due)
	}
	w.later(time.Minute)
	o = w.answer(ann, code, actions.Deny)
	if want := "Nothing has changed: web_fetch was settled before (allowed by Ann at 14:03)."; o.Say() != want {
		t.Errorf("the second answer is %q, want %q", o.Say(), want)
	}
	if len(o.Due) != 1 {
		t.Errorf("after a crash in between, due are %q, want the turn's item", o.Due)
	}
	w.said()
	if o := w.answer(ann, code, actions.Deny); len(o.Due) != 0 {
		t.Errorf("after the turn went on, due are %q", o.Due)
	}
	if want := []string{"pending", "shown", "allowed", "used"}; strings.Join(w.events, " ") != strings.Join(want, " ") {
		t.Errorf("told were %q, want %q", w.events, want)
	}
}

// failing is a store that cannot be written.
type failing struct{ actions.Store }

func (failing) ChangeNotes(context.Context, string, string, func([]sessions.Note) ([]sessions.Note, []string, error)) error {
	return errors.New("the disk is full")
}

func TestAStoreThatFails(t *testing.T) {
	w := newWorld(t)
	w.store = failing{w.store}
	w.open()
	d, err := w.book.Guard(w.turn).Decide(t.Context(), w.proposal())
	if err == nil || d.Verdict == agent.Allow {
		t.Errorf("Decide = %+v, %v, want an error", d, err)
	}
}

// Old records make room for new ones.
func TestManyRecords(t *testing.T) {
	if testkit.Race {
		t.Skip("one question after the other: nothing races, and it would take minutes")
	}
	w := newWorld(t)
	for i := range 210 {
		w.turn.ID = fmt.Sprint("telegram:42#", i)
		w.said()
		no(w)
		w.said()
		w.later(time.Second)
	}
	list, err := w.book.List(t.Context(), private)
	if err != nil || len(list) != 200 {
		t.Errorf("List has %d records, %v, want 200", len(list), err)
	}
	codes := map[string]bool{}
	for _, q := range list {
		codes[q.Code] = true
		if strings.ContainsAny(q.Code, "01OIL") || !actions.IsCode(q.Code) {
			t.Errorf("the code %q", q.Code)
		}
	}
	if len(codes) != 200 {
		t.Errorf("%d different codes of 200", len(codes))
	}
}

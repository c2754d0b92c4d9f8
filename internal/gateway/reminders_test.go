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
	"dragoman/internal/gateway"
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
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Heartbeats = jobs{} })
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

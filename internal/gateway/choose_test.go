package gateway_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// choices runs a world with three models, of which big is the configured one.
func choices(_ *world, _ *gateway.Binding, o *gateway.Options) {
	o.Model = "big-1"
	o.Models = func() []gateway.Model {
		return []gateway.Model{{Name: "big-1", Window: 200_000, Input: 3, Output: 15}, {Name: "big-2"}, {Name: "small", Window: 8000}}
	}
}

// A person chooses the model of their conversation, and how much it thinks.
func TestChoicesOfAPerson(t *testing.T) {
	const list = "big-1 answers here. These can be chosen:\n\n- big-1, reads 200k tokens at once, 3 in and 15 out for a million tokens\n" +
		"- big-2\n- small, reads 8000 tokens at once\n\nWrite it after the command, like /model small. /model default takes the choice back."
	tests := []struct {
		typed, says, model, reasoning string
	}{
		{"/model", list, "", ""},
		{"/model small", "From the next answer on, small writes here. It reads 8000 tokens at once, less than big-1: what no longer fits is summarised first.", "small", ""},
		{"/model SMA", "From the next answer on, small writes here. It reads 8000 tokens at once, less than big-1: what no longer fits is summarised first.", "small", ""},
		{"/model big-2", "From the next answer on, big-2 writes here.", "big-2", ""},
		{"/model big", "It is not clear which model “big” is. Choose one of big-1, big-2.", "", ""},
		{"/model other", "It is not clear which model “other” is. Choose one of big-1, big-2, small.", "", ""},
		{"/model default", "From the next answer on, big-1 writes here.", "", ""},
		{"/think", "The model thinks here: as much as it is configured to. There is auto, none, minimal, low, medium, high, xhigh, max. Write it after the command, like /think high. /think default takes the choice back.", "", ""},
		{"/think High", "From the next answer on, the model thinks here: high.", "", "high"},
		{"/think more", "“more” is none of auto, none, minimal, low, medium, high, xhigh, max, default.", "", ""},
		{"/think default", "From the next answer on, the model thinks here: as much as it is configured to.", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.typed, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, choices)
				w.say("1", tt.typed)
				synctest.Wait()
				if got := w.lastText("1"); got != tt.says {
					t.Errorf("it says %q, want %q", got, tt.says)
				}
				w.say("1", "hello")
				synctest.Wait()
				set := w.agent.asked()[0].History.Settings
				if set.Model != tt.model || set.Reasoning != tt.reasoning {
					t.Errorf("the next turn has the model %q and reasoning %q, want %q and %q", set.Model, set.Reasoning, tt.model, tt.reasoning)
				}
			})
		})
	}
}

// A prompt names a model for its own turn. A turn that runs again, after an interruption or
// a crash, has it too, because it is stored with the message.
func TestModelOfAPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, choices)
		k := channels.MustKey("net:1")
		w.agent.run = slowEcho(time.Minute)
		_, err := w.gw.Say(t.Context(), gateway.Question{Key: k, ID: "a", Text: "hello", Model: "small"}, "")
		time.Sleep(time.Second)
		_, err2 := w.gw.Say(t.Context(), gateway.Question{Key: k, ID: "b", Text: "and"}, gateway.Interrupt)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		w.say("1", "next")
		time.Sleep(time.Hour)
		if err := w.gw.Order(t.Context(), gateway.Question{Key: k, ID: "c", Model: "big-2"}, "again"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		var got []string
		for _, turn := range w.agent.asked() {
			got = append(got, turn.History.Settings.Model)
		}
		if want := []string{"small", "small", "", "big-2"}; !slices.Equal(got, want) {
			t.Errorf("the turns have the models %q, want %q", got, want)
		}
		var refused *gateway.RefusedError
		_, err = w.gw.Say(t.Context(), gateway.Question{Key: k, Text: "x", Model: "none"}, "")
		if !errors.As(err, &refused) || refused.Why != "there is no model none here; there is big-1, big-2, small" {
			t.Errorf("with a model that is not there, Say = %v", err)
		}
	})
}

// In a shared chat only whoever runs Dragoman chooses; everybody may look. Where there is one
// model, there is no choice.
func TestChoicesInASharedChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, choices)
		for _, typed := range []string{"/model", "/model small", "/think high"} {
			m := w.message("group", typed)
			m.Private, m.Addressed = false, true
			m.Sender = channels.Person{IDs: []string{"2"}, Name: "P2"}
			w.accept(m)
			synctest.Wait()
		}
		got := w.net.texts("group")
		const refused = "Only whoever runs me can change that in a shared chat."
		if len(got) != 3 || !strings.HasPrefix(got[0], "big-1 answers here.") || !strings.HasSuffix(got[0], "\n\n"+refused) || !slices.Equal(got[1:], []string{refused, refused}) {
			t.Errorf("the chat reads %q, want the list and two refusals", got)
		}
		h, err := w.mem.History(t.Context(), channels.MustKey("net:group"), sessions.HistoryLimit{})
		if err != nil || h.Settings.Model != "" || h.Settings.Reasoning != "" {
			t.Errorf("the settings are %+v, %v, want none", h.Settings, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.say("1", "/model x")
		w.expect("1", "There is only one model here.")
	})
}

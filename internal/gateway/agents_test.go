package gateway_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
	"dragoman/internal/personas"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// ship binds a pirate to the chat 1 and to the group, where dragoman and a cook can be chosen,
// and the cook to the job "news".
func ship(_ *world, _ *gateway.Binding, o *gateway.Options) {
	o.Model = "big"
	o.Agents = personas.New(personas.Plan{
		Any: true,
		Bound: func(k channels.Key) []string {
			switch k.String() {
			case "net:1", "net:group":
				return []string{"pirate", "dragoman", "cook"}
			case "heartbeat:news":
				return []string{"cook"}
			}
			return nil
		},
		Personas: []personas.Source{{Persona: agent.Persona{Name: "pirate", OwnMemory: true}}, {Persona: agent.Persona{Name: "cook", Model: "small"}}},
	}, personas.Options{})
}

// now is what the newest turn was asked as.
func (w *world) now() sessions.Settings {
	w.t.Helper()
	asked := w.agent.asked()
	if len(asked) == 0 {
		w.t.Fatal("no turn ran")
	}
	return asked[len(asked)-1].History.Settings
}

// A person sees who may answer in their chat, and chooses. The conversation goes on, and its
// model is the persona's unless the person chose one.
func TestChooseAnAgent(t *testing.T) {
	const list = "pirate answers here. These can be chosen:\n\n- pirate\n- dragoman\n- cook, with the model small\n\nWrite it after the command, like /agent cook. /agent default takes the choice back."
	synctest.Test(t, func(t *testing.T) {
		w := start(t, choices, ship)
		for _, step := range []struct{ typed, says, agent, model string }{
			{"/agent", list, "pirate", ""},
			{"/agent COOK", "From the next answer on, cook writes here.", "cook", "small"},
			{"/model big-2", "From the next answer on, big-2 writes here.", "cook", "big-2"},
			{"/model default", "From the next answer on, small writes here.", "cook", "small"},
			{"/agent Drago", "From the next answer on, dragoman writes here.", "", ""},
			{"/agent r", "It is not clear who “r” is. Choose one of pirate, dragoman.", "", ""},
			{"/agent nobody", "It is not clear who “nobody” is. Choose one of pirate, dragoman, cook.", "", ""},
			{"/agent default", "From the next answer on, pirate writes here.", "pirate", ""},
		} {
			w.say("1", step.typed)
			synctest.Wait()
			if got := w.lastText("1"); got != step.says {
				t.Errorf("%s: it says %q, want %q", step.typed, got, step.says)
			}
			w.say("1", "hello")
			synctest.Wait()
			if set := w.now(); set.Agent != step.agent || set.Model != step.model {
				t.Errorf("after %s, %q answers with the model %q, want %q and %q", step.typed, set.Agent, set.Model, step.agent, step.model)
			}
		}
		got := strings.Join(w.transcript("1"), "\n")
		const note = "[From here on cook answers in this conversation. The answers before are those of pirate.]"
		if strings.Count(got, note) != 1 || strings.Count(got, "[From here on") != 3 || strings.Contains(w.net.texts("1")[1], "[From") {
			t.Errorf("the conversation should note each change once, and nobody else:\n%s", got)
		}
		if list, err := w.mem.Generations(t.Context(), channels.MustKey("net:1")); err != nil || len(list) != 1 {
			t.Errorf("there are %d generations, %v, want the one", len(list), err)
		}
		w.say("2", "/agent")
		w.expect("2", "Nobody else answers here: the configuration binds no persona to this chat.")
	})
}

// A choice outlives a restart, and /status shows it. Without its binding it does not count.
func TestChosenAgentOutlivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		n := 0
		for _, life := range []struct {
			with       change
			typed      []string
			want, says string
		}{
			{ship, []string{"/agent cook", "/think high"}, "cook small high", "model small.\nThe persona cook answers here.\nThe model thinks here: high.\n"},
			{ship, nil, "cook small high", "model small.\nThe persona cook answers here.\nThe model thinks here: high.\n"},
			{func(*world, *gateway.Binding, *gateway.Options) {}, nil, "  high", "model big-1.\nThe model thinks here: high.\n"},
		} {
			store := sqlitetest.OpenIn(t, folder, nil)
			w := start(t, choices, life.with, func(w *world, _ *gateway.Binding, o *gateway.Options) {
				w.mem = store
				w.store = storeOf(store)
				o.Model = "big-1"
			})
			w.n = n
			for _, typed := range append(life.typed, "hello", "/status") {
				w.say("1", typed)
				synctest.Wait()
			}
			if s := w.now(); s.Agent+" "+s.Model+" "+s.Reasoning != life.want {
				t.Errorf("the settings are %+v, want %q", s, life.want)
			}
			if got := w.lastText("1"); !strings.Contains(got, life.says) {
				t.Errorf("/status says %q, want %q", got, life.says)
			}
			n = w.n
			w.close()
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// In a shared chat those change it who approve, or run Dragoman; the others are told who may.
func TestWhoChoosesInASharedChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, choices, ship, func(w *world, _ *gateway.Binding, o *gateway.Options) {
			o.Actions = actions.New(w.mem, actions.Options{Approvers: []string{"net:3"}})
		})
		say := func(person, typed string) string {
			m := w.message("group", typed)
			m.Private, m.Addressed = false, true
			m.Sender = channels.Person{IDs: []string{person}, Name: "P" + person}
			w.accept(m)
			synctest.Wait()
			return w.lastText("group")
		}
		const refused = "Only whoever runs me or approves here (net:3) can change that in a shared chat."
		for _, typed := range []string{"/agent cook", "/model small", "/think high"} {
			if got := say("2", typed); got != refused {
				t.Errorf("%s of somebody: %q, want %q", typed, got, refused)
			}
		}
		if got := say("2", "/agent"); !strings.HasPrefix(got, "pirate answers here.") {
			t.Errorf("/agent of somebody says %q, want the list", got)
		}
		if got := say("3", "/agent cook"); got != "From the next answer on, cook writes here." {
			t.Errorf("/agent cook of an approver: %q", got)
		}
		say("2", "hello")
		if got := w.now(); got.Agent != "cook" || got.Reasoning != "" {
			t.Errorf("the group has the settings %+v", got)
		}
	})
}

// A persona with a memory of its own neither sees nor changes what others remember.
func TestMemoryOfAPersona(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := ""
		w := start(t, ship, remembers, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
			o.Known = func(_ context.Context, _ channels.Key, _ channels.Person, own string) (string, []sessions.Origin, error) {
				known = own
				return "", nil, nil
			}
		})
		for _, step := range []struct{ typed, says string }{
			{"/remember Gold is at the bottom.", "I will remember it, as #1. /forget 1 takes it back."},
			{"/agent dragoman", "From the next answer on, dragoman writes here."},
			{"/memory", "I remember nothing about you yet. Write what I should remember after the command, like /remember The bins are collected on Fridays."},
			{"/agent pirate", "From the next answer on, pirate writes here."},
		} {
			w.say("1", step.typed)
			synctest.Wait()
			if got := w.lastText("1"); got != step.says {
				t.Errorf("%s: it says %q, want %q", step.typed, got, step.says)
			}
		}
		w.say("1", "/memory")
		synctest.Wait()
		if got := w.lastText("1"); !strings.HasPrefix(got, "(pirate has a memory of its own.) This is") || !strings.Contains(got, "Gold is at the bottom.") {
			t.Errorf("the pirate remembers %q", got)
		}
		w.say("1", "hello")
		synctest.Wait()
		if known != "pirate" {
			t.Errorf("the prompt has the memory of %q", known)
		}
		scopes, err := w.mem.FactScopes(t.Context(), "")
		if err != nil || !slices.Equal(scopes, []string{"agent:pirate:person:net:1"}) {
			t.Errorf("the memories are %q, %v", scopes, err)
		}
	})
}

// A job runs as the persona that it names, else as that of the chat that it tells, with the
// choice that was made there.
func TestAgentOfAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, choices, ship, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
			o.Heartbeats = jobs{"news": channels.MustKey("net:1"), "watch": channels.MustKey("net:1"), "other": channels.MustKey("net:2")}
		})
		for _, step := range []struct{ job, agent, model string }{{"news", "cook", "small"}, {"watch", "pirate", ""}, {"other", "", ""}} {
			w.fire(step.job, "look")
			if got := w.now(); got.Agent != step.agent || got.Model != step.model {
				t.Errorf("the job %s runs as %q with the model %q, want %q and %q", step.job, got.Agent, got.Model, step.agent, step.model)
			}
		}
		w.say("1", "/agent cook")
		time.Sleep(time.Minute)
		w.fire("watch", "look again")
		if got := w.now(); got.Agent != "cook" || got.Model != "small" {
			t.Errorf("after the choice the job runs as %q with the model %q", got.Agent, got.Model)
		}
		w.remind("1", "look once more")
		if got := w.now(); got.Agent != "cook" || got.Model != "small" {
			t.Errorf("a reminder's prompt runs as %q with the model %q", got.Agent, got.Model)
		}
	})
}

// A program chooses for a conversation, among those that may answer there.
func TestChooseAgentForAProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, ship)
		k := channels.MustKey("net:1")
		w.say("1", "hello")
		synctest.Wait()
		for range 2 {
			if err := w.gw.ChooseAgent(t.Context(), k, "cook"); err != nil {
				t.Fatal(err)
			}
		}
		w.say("1", "hello")
		synctest.Wait()
		if got := w.now().Agent; got != "cook" || strings.Count(strings.Join(w.transcript("1"), "\n"), "[From here on cook answers") != 1 {
			t.Errorf("%q answers, in\n%q", got, w.transcript("1"))
		}
		var refused *gateway.RefusedError
		err := w.gw.ChooseAgent(t.Context(), k, "captain")
		if !errors.As(err, &refused) || refused.Why != "captain does not answer in this conversation; pirate, dragoman, cook can" {
			t.Errorf("with one who is not there: %v", err)
		}
		err = w.gw.ChooseAgent(t.Context(), channels.MustKey("net:2"), "captain")
		if !errors.As(err, &refused) || refused.Why != "there is no persona captain here" {
			t.Errorf("where nothing is bound: %v", err)
		}
		if err := w.gw.ChooseAgent(t.Context(), channels.MustKey("net:2"), "cook"); err != nil {
			t.Errorf("where nothing is bound, one who is there: %v", err)
		}
	})
}

// Two nodes agree: what was chosen through one counts on the other.
func TestAgentOnTwoNodes(t *testing.T) {
	p := startPair(t, choices, ship, func(_ *world, b *gateway.Binding, _ *gateway.Options) { b.Policy = people.Policy{Allow: []string{"1"}} })
	p.front.say("1", "/agent cook")
	p.eventually("the choice", func(sent []string) bool { return len(sent) == 1 })
	p.front.say("1", "hello")
	p.eventually("the answer", func(sent []string) bool { return len(sent) == 2 })
	if got := p.back.now(); got.Agent != "cook" || got.Model != "small" {
		t.Errorf("the other node answers as %q with the model %q", got.Agent, got.Model)
	}
}

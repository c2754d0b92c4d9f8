package gateway_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// answering is a world whose model is run.
func answering(run func(context.Context, agent.Turn) (string, error)) change {
	return func(w *world, _ *gateway.Binding, _ *gateway.Options) { w.agent.run = run }
}

// press lets who press a button with command under a message of chat 1, and
// returns what the person is shown.
func (w *world) press(who, command, message string) string {
	w.t.Helper()
	m := w.message("1", command)
	m.Sender.IDs = []string{who}
	m.Quote = &channels.Quote{ID: message}
	say, err := w.in.(channels.Presser).Press(w.t.Context(), m)
	if err != nil {
		w.t.Fatalf("Press(%s) = %v", command, err)
	}
	return say
}

func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.say("1", "/again")
		w.say("1", "what is Go?")
		synctest.Wait()
		w.say("1", "/status")
		w.say("1", "/again")
		synctest.Wait()
		w.press("1", "/again", "m4")
		synctest.Wait()
		w.say("1", "/new")
		synctest.Wait()
		w.say("1", "/again")
		synctest.Wait()
		texts := w.net.texts("1")
		const again = "echo [asks for another answer to:] what is Go?"
		got := []string{texts[0], texts[1], texts[3], texts[4], texts[6]}
		none := "There is no question here for me to answer again."
		if diff := cmp.Diff([]string{none, "echo what is Go?", again, again, none}, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}

func TestAgainWhileAnswering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, answering(slowEcho(time.Minute)))
		w.say("1", "what is Go?")
		time.Sleep(time.Second)
		w.say("1", "/again")
		time.Sleep(time.Second)
		w.expect("1", "Your last message is not answered yet.")
	})
}

// Only the last piece of a model's answer is marked as its end.
func TestFinishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, answering(slowEcho(time.Minute)))
		w.say("1", "one")
		time.Sleep(2 * time.Minute)
		w.say("1", "/status")
		w.say("1", "two")
		time.Sleep(10 * time.Second)
		w.say("1", "/stop")
		synctest.Wait()
		got := map[string]bool{}
		for _, m := range w.net.sent {
			got[clip(m.Text)] = m.Finishes
		}
		for text, finishes := range got {
			if want := text == "echo one" || text == "Stopped."; finishes != want {
				t.Errorf("%q: Finishes = %v, want %v", text, finishes, want)
			}
		}
	})
}

func TestPressOnStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, answering(slowEcho(time.Minute)))
		if say := w.press("1", "/stop", "p1"); say != "Nothing is running now." {
			t.Errorf("with nothing to stop, the person reads %q", say)
		}
		w.say("1", "one")
		time.Sleep(10 * time.Second)
		if say := w.press("stranger", "/stop", "p1"); say != "I do not know you, so I cannot do that for you." {
			t.Errorf("a stranger reads %q", say)
		}
		synctest.Wait()
		w.expect("1")
		if say := w.press("1", "/stop", "p1"); say != "" {
			t.Errorf("the person reads %q", say)
		}
		synctest.Wait()
		w.expect("1", "Stopped.")
	})
}

// Asking again does not make the words the person's who asks.
func TestAgainKeepsWhoseWordsTheyAre(t *testing.T) {
	others := []sessions.Origin{sessions.OriginOthers}
	for name, tc := range map[string]struct {
		change func(*channels.Inbound)
		want   []sessions.Origin
	}{
		"own words":        {func(*channels.Inbound) {}, nil},
		"forwarded":        {func(m *channels.Inbound) { m.Forwarded = &channels.Forward{} }, others},
		"quotes":           {func(m *channels.Inbound) { m.Quote = &channels.Quote{ID: "9", Text: "buy"} }, others},
		"another member's": {func(m *channels.Inbound) { m.Sender = channels.Person{IDs: []string{"2"}, Name: "Bob"} }, others},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t, func(_ *world, b *gateway.Binding, _ *gateway.Options) { b.Groups = people.All })
			said := func(text string) channels.Inbound {
				m := w.message("1", text)
				m.Private, m.Addressed = name != "another member's", true
				return m
			}
			question := said("what is Go?")
			tc.change(&question)
			for _, m := range []channels.Inbound{question, said("/again")} {
				if err := w.in.Accept(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			asked := w.agent.asked()
			if len(asked) != 2 {
				t.Fatalf("%s: %d turns, want 2", name, len(asked))
			}
			if diff := cmp.Diff(tc.want, asked[1].Input[0].Origins); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}

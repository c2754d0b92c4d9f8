package gateway_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// A person writes an earlier message anew: the model answers as if it had come then, and
// the transcript has all of it.
func TestSayReplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.say("1", "one")
		synctest.Wait()
		w.say("1", "two")
		synctest.Wait()
		q := gateway.Question{Key: channels.MustKey("net:1"), ID: "e", Text: "TWO", Replaces: 3}
		var no *sessions.ReplaceError
		if _, err := w.gw.Say(t.Context(), q, ""); !errors.As(err, &no) || no.Later {
			t.Errorf("the operator replaces a message of somebody else: %v", err)
		}
		q.Own = []string{"1"} // they are the same person
		said, err := w.gw.Say(t.Context(), q, "")
		if err != nil || said.Repeated {
			t.Fatalf("Say = %+v, %v", said, err)
		}
		time.Sleep(time.Minute)
		said, err = w.gw.Say(t.Context(), q, "")
		if err != nil || !said.Repeated {
			t.Errorf("the same once more: Say = %+v, %v; want a repeat", said, err)
		}
		w.say("1", "next")
		synctest.Wait()
		w.expect("1", "echo one", "echo two", "echo TWO", "echo next")
		var seen [][]string
		for _, turn := range w.agent.asked() {
			var contents []string
			for _, m := range turn.History.Messages {
				contents = append(contents, m.Content)
			}
			seen = append(seen, contents)
		}
		want := [][]string{nil, {"one", "echo one"}, {"one", "echo one"}, {"one", "echo one", "TWO", "echo TWO"}}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("what the turns see (-want +got):\n%s", diff)
		}
		if got := w.transcript("1"); len(got) != 9 || got[2] != "user: two" {
			t.Errorf("the transcript is %q, want all nine messages", got)
		}
	})
}

// While a message is not answered, nothing before it can be replaced.
func TestReplacingWaitsForTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.say("1", "one")
		synctest.Wait()
		w.agent.run = slowEcho(time.Hour)
		w.say("1", "two")
		time.Sleep(time.Second)
		q := gateway.Question{Key: channels.MustKey("net:1"), ID: "e", Text: "ONE", Replaces: 1, Own: []string{"1"}}
		var no *sessions.ReplaceError
		if _, err := w.gw.Say(t.Context(), q, ""); !errors.As(err, &no) || !no.Later {
			t.Errorf("Say = %v, want a refusal for now", err)
		}
		if err := w.gw.Order(t.Context(), gateway.Question{Key: q.Key, ID: "s"}, "stop"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.gw.Say(t.Context(), q, ""); err != nil {
			t.Errorf("after a stop, Say = %v", err)
		}
		time.Sleep(2 * time.Hour)
		if got := w.lastText("1"); got != "echo ONE" {
			t.Errorf("the last answer is %q", got)
		}
	})
}

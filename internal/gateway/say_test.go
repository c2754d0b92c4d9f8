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
	"dragoman/internal/gateway"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// What is said at the API is answered in the conversation, once, and nobody waits.
func TestSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) { w.agent.run = slowEcho(time.Minute) })
		k := channels.MustKey("net:1")
		began := time.Now()
		first, err := w.gw.Say(t.Context(), gateway.Question{Key: k, ID: "one", Text: " hello "}, "")
		again, err2 := w.gw.Say(t.Context(), gateway.Question{Key: k, ID: "one", Text: " hello "}, "")
		if err := errors.Join(err, err2); err != nil || time.Since(began) != 0 {
			t.Fatalf("Say = %v after %v", err, time.Since(began))
		}
		if first.Seq != 1 || first.Repeated || !again.Repeated || again.Seq != first.Seq {
			t.Errorf("Say = %+v, then %+v", first, again)
		}
		time.Sleep(time.Hour)
		w.expect("1", "echo hello")
		var refused *gateway.RefusedError
		if _, err := w.gw.Say(t.Context(), gateway.Question{Key: k, Text: "hi", Sender: channels.Person{IDs: []string{"stranger"}}}, ""); !errors.As(err, &refused) {
			t.Errorf("a stranger may say something: %v", err)
		}
	})
}

// What nobody could read is not asked: a room of the page or the terminal has a name of few
// letters. Chats of networks have any.
func TestAskWhereNoRoomCanBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
			o.People = people.NewDirectory(nil, people.DirectoryOptions{Rooms: []string{"net"}})
		})
		for chat, can := range map[string]bool{
			"Kitchen": false, "my room": false, "telegram:42/Kitchen": false, "-x": false, strings.Repeat("x", 65): false,
			"kitchen": true, "telegram:42/kitchen_2": true,
		} {
			q := gateway.Question{Key: channels.MustKey("net:" + chat), ID: chat, Text: "hello"}
			_, asked := w.gw.Ask(t.Context(), q)
			_, said := w.gw.Say(t.Context(), q, "")
			for name, err := range map[string]error{"Ask": asked, "Say": said} {
				var refused *gateway.RefusedError
				if can && err != nil || !can && (!errors.As(err, &refused) || !strings.Contains(refused.Why, "there can be no room net:")) {
					t.Errorf("%s in %q = %v", name, chat, err)
				}
			}
		}
	})
}

// On the page people type commands, and each is carried out once. A model that speaks for
// somebody cannot, and neither does anybody in a chat of a network.
func TestSayCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
			o.People = people.NewDirectory(nil, people.DirectoryOptions{Rooms: []string{"net"}})
		})
		q := gateway.Question{Key: channels.MustKey("net:1"), ID: "a", Text: "/start"}
		for range 2 {
			if _, err := w.gw.Say(t.Context(), q, ""); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		w.expect("1", "Hello! Write to me as you would to a person. /help shows what else I can do.")
		var refused *gateway.RefusedError
		for name, change := range map[string]func(*gateway.Question){
			"of a model":  func(q *gateway.Question) { q.Via = channels.ViaMCP },
			"in an edit":  func(q *gateway.Question) { q.Replaces = 1 },
			"with a file": func(q *gateway.Question) { q.Attachments = []channels.Attachment{{Name: "a.txt"}} },
		} {
			other := q
			other.ID = name
			change(&other)
			if _, err := w.gw.Say(t.Context(), other, ""); !errors.As(err, &refused) {
				t.Errorf("a command %s = %v, want a refusal", name, err)
			}
		}
	})
}

// One message can join the running turn or begin it again, whatever the queue's mode is.
func TestSaySteers(t *testing.T) {
	for mode, want := range map[gateway.Mode][]string{
		"": {"echo one", "echo two"}, gateway.Steer: {"echo one + two"}, gateway.Interrupt: {"echo one | two"},
	} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
					if _, err := slowEcho(10*time.Second)(ctx, turn); err != nil {
						return "", err
					}
					text := "echo " + inputs(turn)
					more, err := turn.Steer(ctx)
					for _, m := range more {
						text += " + " + m.Content
					}
					return text, err
				}
				w.say("1", "one")
				time.Sleep(time.Second)
				if _, err := w.gw.Say(t.Context(), gateway.Question{Key: channels.MustKey("net:1"), ID: "two", Text: "two"}, mode); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				w.expect("1", want...)
			})
		})
	}
}

// Orders do what the commands of people do.
func TestOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) { w.agent.run = slowEcho(time.Hour) })
		k := channels.MustKey("net:1")
		w.say("1", "one")
		time.Sleep(time.Second)
		for range 2 {
			if err := w.gw.Order(t.Context(), gateway.Question{Key: k, ID: "s"}, "stop"); err != nil {
				t.Fatal(err)
			}
		}
		w.expect("1", "Stopped.")
		if err := w.gw.Order(t.Context(), gateway.Question{Key: k, ID: "a"}, "again"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		w.expect("1", "Stopped.", "echo [asks for another answer to:] one")
	})
}

// A reply in the name of the assistant is sent once, and stands in the transcript with its
// author.
func TestReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.say("1", "one")
		synctest.Wait()
		k := channels.MustKey("net:1")
		for range 2 {
			if err := w.gw.Reply(t.Context(), gateway.Question{Key: k, ID: "r", Text: "by hand"}, "ann", false); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		w.expect("1", "echo one", "by hand")
		if got := w.transcript("1"); !slices.Contains(got, "assistant: by hand") || len(got) != 3 {
			t.Errorf("the transcript is %q", got)
		}
		list := w.history("1").Messages
		if last := list[len(list)-1]; last.Name != "ann" {
			t.Errorf("the reply is %q's, want ann's", last.Name)
		}
	})
}

// A reply as oneself begins with one's name. The transcript has it as a word of others, so
// what the model wants to do next is not what the person asked for.
func TestReplyAsOneself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.say("1", "one")
		synctest.Wait()
		if err := w.gw.Reply(t.Context(), gateway.Question{Key: channels.MustKey("net:1"), ID: "r", Text: "by hand"}, "ann", true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.expect("1", "echo one", "ann: by hand")
		list := w.history("1").Messages
		said := list[len(list)-1]
		if said.Role != sessions.RoleUser || said.Content != "ann: by hand" || said.Name != "ann" || said.Sender != "" || said.Via != channels.ViaReply {
			t.Errorf("the transcript has %+v", said)
		}
		var taint sessions.Taint
		taint.AddMessage(&said)
		if taint.IsClean() {
			t.Error("the model may do what it says without a question")
		}
	})
}

// What cannot be said is refused, and what finds no room is.
func TestSayRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
			o.MaxWaiting = 2
			o.MaxMessageBytes = 20
			w.agent.run = slowEcho(time.Hour)
		})
		k := channels.MustKey("net:1")
		say := func(k channels.Key, text string) error {
			_, err := w.gw.Say(t.Context(), gateway.Question{Key: k, Text: text, ID: text}, "")
			return err
		}
		reply := func(k channels.Key, text string) error {
			return w.gw.Reply(t.Context(), gateway.Question{Key: k, Text: text, ID: text}, "ann", false)
		}
		for name, do := range map[string]func(channels.Key, string) error{"say": say, "reply": reply} {
			for what, err := range map[string]error{
				"nothing":          do(k, " \u200b "),
				"too much":         do(k, strings.Repeat("long ", 10)),
				"no such channel":  do(channels.MustKey("other:1"), "hello"),
				"a command of yet": say(k, "/foo"),
			} {
				var refused *gateway.RefusedError
				if !errors.As(err, &refused) {
					t.Errorf("%s %s = %v, want a refusal", name, what, err)
				}
			}
		}
		w.say("1", "one")
		time.Sleep(time.Minute)
		if err := say(k, "two"); err != nil {
			t.Errorf("the first that waits: %v", err)
		}
		if err := say(k, "three"); !errors.Is(err, sessions.ErrFull) {
			t.Errorf("one too many: %v, want ErrFull", err)
		}
	})
}

// Two people may choose one id.
func TestSayTwoPeopleOneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		for _, who := range []string{"1", "2"} {
			said, err := w.gw.Say(t.Context(), gateway.Question{Key: channels.MustKey("net:1"), ID: "a", Text: "from " + who, Sender: channels.Person{IDs: []string{who}}}, "")
			if err != nil || said.Repeated {
				t.Errorf("Say of %s = %+v, %v", who, said, err)
			}
			time.Sleep(time.Minute)
		}
		w.expect("1", "echo from 1", "echo from 2")
	})
}

// stoppable is a network that sends something of its own, which a /stop ends.
type stoppable struct {
	*network
	stopped []channels.Key
}

func (s *stoppable) Stop(k channels.Key) bool {
	s.stopped = append(s.stopped, k)
	return true
}

// A stop by the API ends what the channel itself sends, as a person's does.
func TestOrderStopsTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *stoppable
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
			s = &stoppable{network: w.net}
			b.Channel = s
		})
		k := channels.MustKey("net:1")
		if err := w.gw.Order(t.Context(), gateway.Question{Key: k, ID: "s"}, "stop"); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.stopped, []channels.Key{k}) {
			t.Errorf("stopped %v, want %s", s.stopped, k)
		}
		w.expect("1", "Stopped.")
	})
}

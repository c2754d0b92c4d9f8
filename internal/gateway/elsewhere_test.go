package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// routed has two networks, on which Ann is one person, and two ways to other chats.
func routed(t *testing.T) *nets {
	t.Helper()
	x := startNetsWith(t, func(o *gateway.Options) {
		o.Routes = []gateway.Route{
			{From: "net:1", To: "net:3", Name: "Bob"},
			{From: "net:-9", To: "irc"},
			{From: "heartbeat:news", To: "net:3"},
		}
	}, "net", "irc")
	if err := x.dir.Join(t.Context(), "net:1", "irc:2"); err != nil {
		t.Fatal(err)
	}
	x.hand(x.message("net", "1", "hello"))
	x.hand(x.message("irc", "2", "hello"))
	x.hand(x.message("irc", "3", "hello"))
	return x
}

// sending is a call of Ann's on net.
func sending() agent.Call {
	return agent.Call{
		ID: "c1", Turn: "net:1#1", Key: channels.MustKey("net:1"), Private: true,
		Person: channels.Person{IDs: []string{"1"}, Name: "Ann"},
	}
}

// Words go where the person is, and where a route leads, and nowhere else.
func TestWhereWordsMayGo(t *testing.T) {
	const toAnn, toBob = "To irc (the person's own chat there), irc:2:\nhi", "To Bob, net:3:\nhi"
	nowhere := "not sent: from this chat nothing can be sent to others, as long as no route allows it"
	noSuch := func(list string) string {
		return "not sent: from this chat that is no possible target. Possible: " + list
	}
	annList := noSuch("irc (the person's own chat there); Bob")
	for _, test := range []struct {
		name string
		to   string
		set  func(*agent.Call)
		want string
	}{
		{name: "to oneself", to: "irc", want: toAnn},
		{name: "to oneself by key", to: "irc:2", want: toAnn},
		{name: "by a name", to: " bob", want: toBob},
		{name: "by the key of a route", to: "net:3", want: toBob},
		{name: "to somebody who wrote", to: "irc:3", want: annList},
		{name: "to nobody", to: "irc:77", want: annList},
		{name: "to the chat itself", to: "net:1", want: annList},
		{name: "to nothing", to: "", want: annList},
		{name: "in a job of hers", to: "irc", set: func(c *agent.Call) { c.Job = true }, want: noSuch("Bob")},
		{name: "without an id", to: "irc", set: func(c *agent.Call) { c.Person.IDs = nil }, want: noSuch("Bob")},
		{name: "in a group", to: "irc", set: func(c *agent.Call) { c.Private = false }, want: noSuch("Bob")},
		{name: "from elsewhere", to: "Bob", set: func(c *agent.Call) {
			c.Key = channels.MustKey("irc:2")
			c.Person.IDs = []string{"2"}
		}, want: noSuch("net (the person's own chat there)")},
		{name: "a stranger", to: "Bob", set: func(c *agent.Call) {
			c.Key = channels.MustKey("net:2")
			c.Person.IDs = []string{"2"}
		}, want: nowhere},
		{name: "to a whole channel", to: "irc:99", set: func(c *agent.Call) {
			c.Key = channels.MustKey("net:-9")
			c.Private = false
		}, want: "To irc:99:\nhi"},
		{name: "to a channel by its name", to: "irc", set: func(c *agent.Call) {
			c.Key = channels.MustKey("net:-9")
			c.Private = false
		}, want: noSuch("irc")},
		{name: "a job with a route", to: "net:3", set: func(c *agent.Call) {
			c.Key = channels.MustKey("heartbeat:news")
			c.Job = true
		}, want: "To net:3:\nhi"},
		{name: "another job", to: "net:3", set: func(c *agent.Call) {
			c.Key = channels.MustKey("heartbeat:other")
			c.Job = true
		}, want: nowhere},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := routed(t)
				c := sending()
				if test.set != nil {
					test.set(&c)
				}
				got, err := x.gw.AskToSend(t.Context(), c, test.to, "hi")
				if err != nil {
					got = err.Error()
				}
				if got != test.want {
					t.Errorf("to %q: %q, want %q", test.to, got, test.want)
				}
				said, err := x.gw.SendMessage(t.Context(), c, test.to, "hi")
				if (err == nil) != strings.HasPrefix(test.want, "To ") {
					t.Errorf("SendMessage = %q, %v", said, err)
				}
			})
		})
	}
}

// One call sends once, whoever reads it knows who asked, and an answer there makes sense.
func TestAMessageForAnotherChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := routed(t)
		c := sending()
		c.Taint = []sessions.Origin{sessions.OriginWeb}
		send := func(to, text string) {
			t.Helper()
			if _, err := x.gw.SendMessage(t.Context(), c, to, text); err != nil {
				t.Fatalf("SendMessage(%s) = %v", to, err)
			}
			synctest.Wait()
		}
		send("Bob", "dinner at eight?")
		send("Bob", "dinner at eight?") // again after a crash
		want := []string{"Ann asked me on net to tell you this.\n\ndinner at eight?"}
		if got := x.net["net"].texts("3"); !cmp.Equal(got, want) {
			t.Errorf("Bob was sent %q, want %q", got, want)
		}
		h, err := x.mem.History(t.Context(), channels.MustKey("net:3"), sessions.HistoryLimit{})
		if err != nil || len(h.Messages) != 1 {
			t.Fatalf("History = %v, %v", h.Messages, err)
		}
		m := h.Messages[0]
		if m.Content != "[Ann asked me on net to tell you this. This was sent here:]\ndinner at eight?" || !m.Synthetic || m.Role != sessions.RoleUser {
			t.Errorf("the transcript has %+v", m)
		}
		if got := []sessions.Origin{sessions.OriginWeb, sessions.OriginOthers}; !cmp.Equal(m.Origins, got) {
			t.Errorf("its words are %v, want %v", m.Origins, got)
		}

		c.ID = "c2"
		c.Taint = nil
		send("irc", "milk")
		got := x.net["irc"].texts("2")
		if last := got[len(got)-1]; last != "You asked me on net to send you this here.\n\nmilk" {
			t.Errorf("Ann was sent %q", last)
		}
	})
}

// Whoever has no name where they write has the one by which they are known, and runs me if
// there is none. A room is no network of others.
func TestWhoAskedForAMessage(t *testing.T) {
	for _, test := range []struct {
		name, key, known, want string
		operator, group, job   bool
	}{
		{"known", "web:books", "Ann", "Ann asked me to tell you this.", true, false, false},
		{"the operator", "web:books", "", "Whoever runs me asked me to tell you this.", true, false, false},
		{"a job of the operator's", "web:books", "", "Somebody asked me to tell you this.", true, false, true},
		{"nobody", "net:1", "", "Somebody asked me on net to tell you this.", false, false, false},
		{"a long name", "net:1", "Ann\n" + strings.Repeat("x", 100), "Ann " + strings.Repeat("x", 56) + "… asked me on net to tell you this.", false, false, false},
		{"a group", "net:1", "Ann", "Ann asked me in a group on net to tell you this.", false, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := startNetsWith(t, func(o *gateway.Options) {
					o.People = people.NewDirectory(nil, people.DirectoryOptions{Rooms: []string{"web"}})
					o.NameOf = func(_ context.Context, channel string, p channels.Person) string {
						if who := channel + ":" + p.ID(); who != "web:operator" && who != "net:1" {
							t.Errorf("it asks for the name of %s", who)
						}
						return test.known
					}
					o.Routes = []gateway.Route{{From: channels.Pattern(test.key), To: "net:3", Name: "Bob"}}
				}, "net")
				c := sending()
				c.Key = channels.MustKey(test.key)
				c.Operator = test.operator
				c.Private = !test.group
				c.Job = test.job
				c.Person = channels.Person{IDs: []string{"1"}}
				if c.Key.Channel() == "web" {
					c.Person.IDs[0] = people.OperatorID
					c.Person.Name = people.OperatorID
				}
				_, err := x.gw.SendMessage(t.Context(), c, "Bob", "hi")
				synctest.Wait()
				if got := x.net["net"].texts("3"); err != nil || !cmp.Equal(got, []string{test.want + "\n\nhi"}) {
					t.Errorf("Bob was sent %q, %v; want %q", got, err, test.want)
				}
			})
		})
	}
}

func TestTooMuchForOtherChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := routed(t)
		c := sending()
		for text, want := range map[string]string{
			" \u200b ":                "the text is empty",
			strings.Repeat("ä", 1501): "the text has 3002 bytes, at most 3000",
		} {
			if _, err := x.gw.SendMessage(t.Context(), c, "Bob", text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("SendMessage(%.20q) = %v, want %q", text, err, want)
			}
		}
		var err error
		sent := 0
		for ; err == nil && sent < 20; sent++ {
			c.ID = strings.Repeat("c", sent+1)
			_, err = x.gw.SendMessage(t.Context(), c, "Bob", "hi")
		}
		if sent != 7 || !strings.Contains(err.Error(), "at most 6 messages a minute") {
			t.Errorf("message %d: %v", sent, err)
		}
	})
}

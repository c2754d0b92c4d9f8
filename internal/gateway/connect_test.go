package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
	"dragoman/sessions/sqlite/sqlitetest"
)

// nets is one gateway with several networks, on which people connect. Everybody with an id
// of "1" to "3" may talk.
type nets struct {
	*testing.T
	gw   *gateway.Gateway
	mem  *sqlitetest.Store
	dir  *people.Directory
	net  map[string]*network
	in   map[string]channels.Intake
	n    int
	code string // that was shown last
}

func startNets(t *testing.T, names ...string) *nets {
	t.Helper()
	return startNetsWith(t, func(*gateway.Options) {}, names...)
}

func startNetsWith(t *testing.T, set func(*gateway.Options), names ...string) *nets {
	t.Helper()
	mem := sqlitetest.Open(t, nil)
	x := &nets{T: t, net: map[string]*network{}, in: map[string]channels.Intake{}}
	x.dir = people.NewDirectory(mem, people.DirectoryOptions{Rooms: []string{"room"}})
	var bindings []gateway.Binding
	for _, name := range names {
		x.net[name] = newNetwork(name)
		bindings = append(bindings, gateway.Binding{Channel: x.net[name], Policy: people.Policy{Allow: []string{"1", "2", "3"}, Groups: people.All}})
	}
	o := gateway.Options{
		Logger: slog.New(slog.DiscardHandler), People: x.dir, Connections: people.NewConnections(x.dir),
		Memory: people.Memory{Facts: mem, People: x.dir}, Limits: gateway.Limits{RatePerMinute: -1},
	}
	set(&o)
	x.mem = mem
	gw, err := gateway.New(storeOf(mem), &scripted{run: echo}, bindings, o)
	if err != nil {
		t.Fatal(err)
	}
	x.gw = gw
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- gw.Run(ctx) }()
	for _, name := range names {
		x.in[name] = <-x.net[name].intake
	}
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := mem.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// message is one of a person in a private chat.
func (x *nets) message(net, person, text string) channels.Inbound {
	x.n++
	return channels.Inbound{
		Key: channels.MustKey(net + ":" + person), ID: fmt.Sprint("u", x.n), MessageID: fmt.Sprint("n", x.n),
		Sender: channels.Person{IDs: []string{person}, Name: "P" + person}, Text: text, Private: true,
	}
}

var codeForm = regexp.MustCompile("/connect ([A-Z2-9]{5}-[A-Z2-9]{5})`")

// hand hands m in and returns what its chat was told then.
func (x *nets) hand(m channels.Inbound) string {
	x.Helper()
	net := x.net[m.Key.Channel()]
	before := len(net.texts(m.Key.Chat()))
	if err := x.in[m.Key.Channel()].Accept(x.Context(), m); err != nil {
		x.Fatal(err)
	}
	synctest.Wait()
	text := strings.Join(net.texts(m.Key.Chat())[before:], "\n")
	if found := codeForm.FindStringSubmatch(text); found != nil {
		x.code = found[1]
	}
	return text
}

func (x *nets) say(net, person, text string) string {
	x.Helper()
	return x.hand(x.message(net, person, strings.ReplaceAll(text, "CODE", x.code)))
}

// told expects what the last text in a private chat has.
func (x *nets) told(net, person, want string) {
	x.Helper()
	all := x.net[net].texts(person)
	if len(all) == 0 || !strings.Contains(all[len(all)-1], want) {
		x.Errorf("%s:%s was told %q, want %q", net, person, all, want)
	}
}

// Both sides read whom they would be connected with, and what becomes common, and both say
// yes. Each sentence comes once.
func TestConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := startNets(t, "here", "there")
		for _, step := range []struct{ net, typed, says string }{
			{"here", "/connect yes", "I have not asked you anything."},
			{"here", "/disconnect", "You are connected with nobody."},
			{"here", "/connect", "write this to me there, in a private chat, within ten minutes"},
			{"there", "/connect CODE", "This would connect you with “P1” (here:1). You are “P1” (there:1). Then what I remember about you, your budget, your reminders and your time zone are common"},
			{"there", "/connect", "A question waits for you already."},
			{"there", "/connect yes", "Good. I wait for “P1” (here:1) to say yes, too, for another 10 minutes. /connect no takes"},
			{"here", "/connect yes", "You are connected with “P1” (there:1): what I remember"},
			{"here", "/connect yes", "You are connected with “P1” (there:1): what I remember"},
			{"here", "/disconnect", "You are no longer connected with there:1."},
		} {
			if got := x.say(step.net, "1", step.typed); !strings.HasPrefix(got, strings.ReplaceAll(step.says, "CODE", x.code)) && !strings.Contains(got, step.says) {
				t.Errorf("%s on %s: it says %q, want %q", step.typed, step.net, got, step.says)
			}
		}
		x.told("there", "1", "“P1” (here:1) is no longer connected with you.")
		time.Sleep(time.Minute)
		counts := map[string]int{}
		for _, text := range append(x.net["here"].texts("1"), x.net["there"].texts("1")...) {
			counts[strings.Fields(text)[0]+strings.Fields(text)[2]]++
		}
		if counts["Somebodysaid"] != 1 || counts["Thisconnect"] != 1 || counts["Youconnected"] != 4 {
			t.Errorf("the sentences came %v times: %q", counts, x.net["there"].texts("1"))
		}
	})
}

// What people try, and what it is worth.
func TestConnectAttacks(t *testing.T) {
	group := func(x *nets, text string) channels.Inbound {
		m := x.message("there", "2", text)
		m.Key = channels.MustKey("there:-5")
		m.Private = false
		m.Addressed = true
		return m
	}
	for name, test := range map[string]func(t *testing.T, x *nets){
		"the code is said in a group": func(t *testing.T, x *nets) {
			x.say("here", "1", "/connect")
			if got := x.hand(group(x, "/connect "+x.code)); !strings.Contains(got, "Write that to me in a private chat") {
				t.Errorf("the group reads %q", got)
			}
			if got := x.say("there", "1", "/connect CODE"); !strings.Contains(got, "This code was used") {
				t.Errorf("the spoilt code: %q", got)
			}
			time.Sleep(time.Minute)
			x.told("here", "1", "Your code was said where others read it")
		},
		"a command in a group": func(t *testing.T, x *nets) {
			for _, typed := range []string{"/connect", "/disconnect", "/connect yes"} {
				if got := x.hand(group(x, typed)); !strings.Contains(got, "Write that to me in a private chat") || x.code != "" {
					t.Errorf("%s: the group reads %q", typed, got)
				}
			}
		},
		"a forwarded code": func(t *testing.T, x *nets) {
			x.say("here", "2", "/connect")
			m := x.message("there", "1", "/connect "+x.code)
			m.Forwarded = &channels.Forward{Name: "P2"}
			if got := x.hand(m); strings.Contains(got, "would connect") {
				t.Errorf("it was obeyed: %q", got)
			}
		},
		"a third person says the code": func(t *testing.T, x *nets) {
			x.say("here", "1", "/connect")
			x.say("there", "2", "/connect CODE")
			x.say("there", "2", "/connect yes")
			x.told("here", "1", "Somebody has said your code. This would connect you with “P2” (there:2).")
			if got := x.say("here", "1", "/connect no"); !strings.Contains(got, "one of you said no") {
				t.Errorf("the no: %q", got)
			}
			x.told("there", "2", "one of you said no")
		},
		"nobody answers": func(t *testing.T, x *nets) {
			x.say("here", "1", "/connect")
			x.say("there", "1", "/connect CODE")
			time.Sleep(11 * time.Minute)
			synctest.Wait()
			x.told("here", "1", "not both of you said yes within ten minutes")
			x.told("there", "1", "not both of you said yes within ten minutes")
		},
		"who made the code may no longer talk": func(t *testing.T, x *nets) {
			x.say("here", "1", "/connect")
			x.shut("here")
			if got := x.say("there", "1", "/connect CODE"); !strings.Contains(got, "I do not know this code") {
				t.Errorf("it says %q", got)
			}
		},
		"who said yes may no longer talk": func(t *testing.T, x *nets) {
			x.say("here", "1", "/connect")
			x.say("there", "1", "/connect CODE")
			x.say("here", "1", "/connect yes")
			x.shut("here")
			if got := x.say("there", "1", "/connect yes"); !strings.Contains(got, "something has changed since I asked") {
				t.Errorf("it says %q", got)
			}
		},
		"a stranger": func(t *testing.T, x *nets) {
			x.say("here", "1", "/connect")
			if got := x.say("there", "9", "/connect CODE"); got != "" {
				t.Errorf("a stranger is told %q", got)
			}
		},
		"whom the network does not vouch for": func(t *testing.T, x *nets) {
			for _, id := range []string{"mask:1!a@b", "bridge:x/1", "-100"} {
				x.gw.Change("here", func(b *gateway.Binding) { b.Allow = append(b.Allow, id) })
				m := x.message("here", "1", "/connect")
				m.Sender.IDs = []string{id}
				if got := x.hand(m); !strings.Contains(got, "does not tell me for certain who you are") {
					t.Errorf("%s: it says %q", id, got)
				}
			}
		},
		"a room": func(t *testing.T, x *nets) {
			for _, typed := range []string{"/connect", "/disconnect"} {
				if got := x.say("room", "1", typed); !strings.Contains(got, "not accounts of a network") {
					t.Errorf("it says %q", got)
				}
			}
		},
		"a command that is handed in again": func(t *testing.T, x *nets) {
			m := x.message("here", "1", "/connect")
			x.hand(m)
			x.hand(m)
			first := x.code
			asked := x.message("there", "1", "/connect "+x.code)
			x.hand(asked)
			if got := x.hand(asked); got != "" {
				t.Errorf("asked again: %q", got)
			}
			if n := len(x.net["here"].texts("1")); n != 2 || x.code != first {
				t.Errorf("%d texts, want a code and a question", n)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := startNets(t, "here", "there", "room")
				test(t, x)
				for _, other := range []string{"there:1", "there:2"} {
					a, err := x.dir.Person(t.Context(), "here:1")
					b, err2 := x.dir.Person(t.Context(), other)
					if err != nil || err2 != nil || a == b {
						t.Errorf("here:1 and %s are one person: %v, %v", other, err, err2)
					}
				}
			})
		})
	}
}

// shut lets nobody talk on a network any more.
func (x *nets) shut(net string) {
	x.gw.Change(net, func(b *gateway.Binding) { b.Allow = nil })
}

package irc_test

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/ircd"
	"dragoman/channels/irc"
)

// memoryLog keeps the log in memory.
type memoryLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *memoryLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *memoryLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// logTo makes o log to the returned memoryLog.
func logTo(o *irc.Options) *memoryLog {
	l := &memoryLog{}
	o.Logger = slog.New(slog.NewTextHandler(l, nil))
	return l
}

// register creates an account with the password "secret1".
func register(p *ircd.Person, account string) {
	p.Raw("PRIVMSG NickServ :REGISTER secret1 " + account + "@test.local")
	p.WaitLine("being registered", func(l string) bool { return strings.Contains(l, " 900 ") })
}

func identify(p *ircd.Person, account string) {
	p.Raw("PRIVMSG NickServ :IDENTIFY " + account + " secret1")
	p.WaitLine("being identified", func(l string) bool { return strings.Contains(l, " 900 ") })
}

// Every kind of login works with the real services: a channel for accounts only is closed
// before the login, and the bot asks for it once.
func TestRealLogins(t *testing.T) {
	t.Parallel()
	addr := ircd.StartServices(t)
	owner := ircd.Join(t, addr, "robot", "#members")
	register(owner, "robot")
	owner.Raw("MODE #members +R")
	owner.Sync()
	for name, set := range map[string]func(*irc.Options){
		"NickServ": func(o *irc.Options) { o.NickServ = irc.NickServ{User: "robot", Password: "secret1"} },
		"SASL": func(o *irc.Options) {
			o.SASL = irc.SASL{Mechanism: "PLAIN", User: "robot", Password: "secret1", Required: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := quick(addr)
			o.Nick += name
			o.Channels = []string{"#members"}
			o.RejoinDelay = time.Hour
			o.RejoinMax = time.Hour
			set(&o)
			log := logTo(&o)
			b := start(t, o)
			b.waitIn("irc:#members")
			if s := log.String(); strings.Contains(s, "WARN") {
				t.Errorf("it logged %s", s)
			}
		})
	}
	t.Run("wrong password", func(t *testing.T) {
		t.Parallel()
		o := quick(addr)
		o.SASL = irc.SASL{Mechanism: "PLAIN", User: "robot", Password: "wrong12", Required: true}
		b := run(t, o)
		b.waitStatus("failed", func(s channels.Status) bool {
			return s.State == channels.StateFailed && strings.Contains(s.Detail, "refused the SASL PLAIN login")
		})
	})
}

// A logged-in person is recognised by the account: in a channel by the tag or, without tags,
// by JOIN, ACCOUNT and WHO; in private by the tag, under every nick and host. Answers follow
// them.
func TestRealAccounts(t *testing.T) {
	t.Parallel()
	for name, modules := range map[string][]string{"account-tag": {"ircv3_accounttag"}, "extended-join": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := ircd.StartServices(t, modules...)
			people := ircd.JoinAll(t, addr, "before", "later", "change", "other")
			before := people[0]
			later := people[1]
			change := people[2]
			register(before, "before")
			register(later, "later")
			register(people[3], "other")
			for _, p := range []*ircd.Person{before, change} {
				p.Raw("JOIN #go")
				p.Sync()
			}
			b := startInGo(t, addr)
			later.Raw("JOIN #go")
			identify(change, "other")
			change.Raw("NICK changed")
			n := 0
			for _, p := range []struct {
				*ircd.Person
				account string
			}{{before, "before"}, {later, "later"}, {change, "other"}} {
				p.Sync()
				p.Say("#go", "dragoman: who am I?")
				n++
				m := b.inbox.Wait(t, n)[n-1]
				if want := "account:" + p.account; !slices.Contains(m.Sender.IDs, want) {
					t.Errorf("%s is %q, want %s", m.Sender.Name, m.Sender.IDs, want)
				}
			}
		})
	}
}

// A person who shares no channel with us asks, leaves, and comes back under another nick and
// host: the account identifies them, so they get the answer, and one WHOIS is enough for all
// its lines.
func TestRealAccountIsFollowed(t *testing.T) {
	t.Parallel()
	addr := ircd.StartServices(t, "ircv3_accounttag")
	people := ircd.JoinAll(t, addr, "anna", "stranger", "annika")
	anna := people[0]
	stranger := people[1]
	again := people[2]
	register(anna, "anna")
	b := start(t, quick(addr))
	anna.Say("dragoman", "a question")
	m := b.inbox.Wait(t, 1)[0]
	anna.Raw("QUIT")
	anna.WaitLine("the end", func(l string) bool { return strings.HasPrefix(l, "ERROR") })
	stranger.Raw("NICK anna")
	stranger.Sync()
	b.forget()
	isNotSent(t, "Send to a stranger", b.reply("irc:anna", "the answer", m.MessageID))
	identify(again, "anna")
	again.Say("dragoman", "here I am")
	b.inbox.Wait(t, 2)
	asked := whoises(stranger)
	b.forget()
	for i := range 6 {
		if err := b.reply("irc:anna", "the answer", m.MessageID); err != nil {
			t.Fatalf("Send of line %d = %v, want it to follow the account", i, err)
		}
		b.age(6 * time.Second)
	}
	again.WaitHeard("dragoman", "annika", 6)
	if n := whoises(stranger) - asked; n != 1 {
		t.Errorf("it looked the person up %d times, want once", n)
	}
	if got := stranger.Heard("dragoman", "anna"); len(got) != 0 {
		t.Errorf("a stranger was told %q", got)
	}
}

// whoises counts the WHOIS requests that the server reports.
func whoises(p *ircd.Person) (n int) {
	seen := len(p.Lines())
	p.Raw("STATS m")
	p.Sync()
	for _, l := range p.Lines()[seen:] {
		if f := strings.Fields(l); len(f) > 4 && f[1] == "212" && f[3] == "WHOIS" {
			for _, digit := range f[4] {
				n = n*10 + int(digit-'0')
			}
		}
	}
	return n
}

package story_test

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/channels/channeltest/ircd"
)

// ircCrowd makes people on a server with services. Each line of a case comes from a new
// connection, because whoever writes much in a minute is taken for a program.
type ircCrowd struct {
	t    *testing.T
	addr string
	n    int
}

// comes connects somebody who is logged in to account, or to none.
func (c *ircCrowd) comes(account string) *ircd.Person {
	c.t.Helper()
	c.n++
	p := ircd.Join(c.t, c.addr, c.nick(), "#go")
	if account != "" {
		p.Raw("PRIVMSG NickServ :IDENTIFY " + account + " secret1")
		p.WaitLine("being identified", func(l string) bool { return strings.Contains(l, " 900 ") })
	}
	return p
}

// nick is that of whoever came last.
func (c *ircCrowd) nick() string { return fmt.Sprintf("guest%d", c.n) }

// comesAsBot connects a program that is logged in to account and has the mark of a bot.
func (c *ircCrowd) comesAsBot(account string) *ircd.Person {
	c.t.Helper()
	p := c.comes(account)
	p.Raw("MODE " + c.nick() + " +B")
	p.WaitLine("the mark of a bot", func(l string) bool { return strings.Contains(l, " MODE ") && strings.Contains(l, "+B") })
	return p
}

// servicesWith starts a server with services that know these accounts.
func servicesWith(t *testing.T, accounts ...string) (addr string) {
	t.Helper()
	addr = ircd.StartServices(t)
	for _, account := range accounts {
		p := ircd.Join(t, addr, account)
		p.Raw("PRIVMSG NickServ :REGISTER secret1 " + account + "@test.local")
		p.WaitLine("being registered", func(l string) bool { return strings.Contains(l, " 900 ") })
		p.Close()
	}
	return addr
}

// onIRCAsked starts a daemon whose file tool asks, on a server with services, with the
// accounts ann and bob, who approves in channels.
func onIRCAsked(t *testing.T) (*daemon, *ircCrowd) {
	addr := servicesWith(t, "ann", "bob")
	h := newHouse(t, plan{})
	h.configure(plan{rest: askedSettings("libera:account:bob"), channels: fmt.Sprintf(`enabled: false
  libera:
    type: irc
    server: %s
    tls: false
    nick: dragoman
    channels: ["#go"]
    allow: ["*"]
    max_lines: 0
    flood: {burst: 100, every: 10ms}`, addr)})
	return h.start(), &ircCrowd{t: t, addr: addr}
}

// In a private talk on IRC, whoever is logged in to services answers.
func TestAskedOnIRC(t *testing.T) {
	d, crowd := onIRCAsked(t)
	var ann *ircd.Person
	var nick string
	n := &askedNet{daemon: d}
	n.asks = func(text string) {
		ann = crowd.comes("ann")
		nick = crowd.nick()
		ann.Say("dragoman", text)
	}
	n.heard = func() []string { return ann.Heard("dragoman", nick) }
	n.denies = func(code string) { ann.Say("dragoman", "!deny "+code) }
	says := func(format string) func(askedQuestion) {
		return func(q askedQuestion) { ann.Say("dragoman", strings.ReplaceAll(format, "CODE", q.code)) }
	}
	n.run(t, []askedCase{
		{"a command", says("!allow CODE"), "used"},
		{"a command for no", says("!deny CODE"), "denied"},
		{"the words", says("allow CODE"), "used"},
		{"the words for no", says("Deny CODE"), "denied"},
		{"a yes alone", says("yes"), "pending"},
		{"another code", says("!allow 1111"), "pending"},
		{"somebody else with an account", func(q askedQuestion) { crowd.comes("bob").Say("dragoman", "!allow "+q.code) }, "pending"},
		{"somebody without an account", func(q askedQuestion) { crowd.comes("").Say("dragoman", "allow "+q.code) }, "pending"},
		{"the same account from another connection", func(q askedQuestion) { crowd.comes("ann").Say("dragoman", "!allow "+q.code) }, "used"},
		{"a bot with the same account", func(q askedQuestion) { crowd.comesAsBot("ann").Say("dragoman", "!allow "+q.code) }, "pending"},
		{"the file has changed", func(q askedQuestion) { n.changes(q); ann.Say("dragoman", "!allow "+q.code) }, "closed"},
		{"a new conversation between", func(q askedQuestion) { ann.Say("dragoman", "!new"); ann.Say("dragoman", "!allow "+q.code) }, "closed"},
	})
}

// In a channel on IRC, the approver answers by their account, and nobody else.
func TestAskedInAnIRCChannel(t *testing.T) {
	d, crowd := onIRCAsked(t)
	ear := crowd.comes("")
	n := &askedNet{daemon: d}
	n.asks = func(text string) { crowd.comes("ann").Say("#go", "dragoman: "+text) }
	n.heard = func() []string { return ear.Heard("dragoman", "#go") }
	n.denies = func(code string) { crowd.comes("bob").Say("#go", "deny "+code) }
	says := func(account, format string) func(askedQuestion) {
		return func(q askedQuestion) { crowd.comes(account).Say("#go", strings.ReplaceAll(format, "CODE", q.code)) }
	}
	n.run(t, []askedCase{
		{"the approver", says("bob", "dragoman: !allow CODE"), "used"},
		{"the approver's words that address nobody", says("bob", "allow CODE"), "used"},
		{"the approver in private", func(q askedQuestion) { crowd.comes("bob").Say("dragoman", "!allow "+q.code) }, "used"},
		{"the approver's yes alone", says("bob", "dragoman: yes"), "pending"},
		{"whoever asked", says("ann", "dragoman: !allow CODE"), "pending"},
		{"somebody without an account", says("", "allow CODE"), "pending"},
		{"the approver without their account", says("", "dragoman: !allow CODE"), "pending"},
		{"a bot with the approver's account", func(q askedQuestion) { crowd.comesAsBot("bob").Say("#go", "dragoman: !allow "+q.code) }, "pending"},
		{"a new conversation between", func(q askedQuestion) {
			bob := crowd.comes("bob")
			bob.Say("#go", "dragoman: !new")
			bob.Say("#go", "dragoman: !allow "+q.code)
		}, "closed"},
	})
}

package story_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/ircd"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/live"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// commandRow is a row of the matrix: what a person says, and what is part of the answer.
type commandRow struct {
	say  string
	want string
	// in is want in other words, by network. Where it is empty, want holds.
	in map[string]string
	// unlisted are the networks where the command would be refused. There, neither /help
	// nor a menu has it.
	unlisted []string
}

// sharedChats are the networks of the matrix with several people in a chat.
var sharedChats = []string{"telegram group", "irc channel", "whatsapp group"}

// inSharedChats is what shared chats say in place of what private ones say.
func inSharedChats(want string) map[string]string {
	all := map[string]string{}
	for _, name := range sharedChats {
		all[name] = want
	}
	return all
}

var (
	ofThisChat = inSharedChats("I remember nothing about this chat")
	refusedTo  = inSharedChats("Only whoever runs me can change that")
	// undecided are the networks where nobody may answer a question: in shared chats no
	// approver is configured, and on IRC without an account nobody is known for certain.
	undecided = append([]string{"irc"}, sharedChats...)
	// unerased are those where nobody can have themself erased: in rooms of the operator
	// neither.
	unerased = append([]string{"page", "terminal"}, undecided...)
)

// unconnected is who cannot be connected, and why.
func unconnected() map[string]string {
	all := inSharedChats("Write that to me in a private chat")
	all["irc"] = "Your network does not tell me for certain who you are"
	for _, room := range []string{"page", "terminal"} {
		all[room] = "The page and the terminal are not accounts of a network."
	}
	return all
}

// leaving is what others than a known person in a private chat read after /forget_me.
func leaving() map[string]string {
	all := inSharedChats("What I have of you concerns only you: write /forget_me")
	all["irc"] = "I cannot be sure here that what I have is yours"
	for _, room := range []string{"page", "terminal"} {
		all[room] = "You run me: “dragoman sessions erase”"
	}
	return all
}

// helpByLines ends the answer to /help where each line is sent slowly.
const helpByLines = "/help new says what one of them does."

const whichQuestion = "Write the code of the question after the command, like /allow K7QM"

// commandRows are said in this order, in one conversation on each network. Each command
// that /help lists has a row. Answers name commands as the network spells them: "!new" on
// IRC.
var commandRows = []commandRow{
	{say: "/start", want: "Hello! Write to me as you would to a person. /help shows"},
	{say: "/help", want: "/start: say hello", in: map[string]string{"irc": helpByLines, "irc account": helpByLines, "irc channel": helpByLines}},
	{say: "/hlep", want: "There is no /hlep. Did you mean /help?"},
	{say: "/stop", want: "Nothing is running now."},
	{say: "/again", want: "There is no question here for me to answer again."},
	{say: "/compact", want: "There is nothing to summarise yet."},
	{say: "/title", want: "This conversation has no title. Write one after the command, like /title"},
	{say: "good morning #1", want: "good morning #1"},
	{say: "/again", want: "good morning #1"},
	{say: "/title Boats", want: "This conversation is now called “Boats”."},
	{say: "/model", want: "fake answers here."},
	{say: "/model small", want: "From the next answer on, small writes here.", in: refusedTo},
	{say: "/think", want: "The model thinks here: as much as it is configured to."},
	{say: "/think high", want: "the model thinks here: high.", in: refusedTo},
	{say: "/agent", want: "dragoman answers here."},
	{say: "/memory", want: "I remember nothing about you", in: ofThisChat},
	{say: "/remember The bins are collected on Fridays.", want: "#1"},
	{say: "/forget 1", want: "#1"},
	{say: "/memory", want: "I remember nothing about you", in: ofThisChat},
	{say: "/undo", want: "The bins are collected on Fridays."},
	{say: "/jobs", want: "There are no reminders here."},
	{say: "/snooze 1h", want: "No reminder of yours has come due here lately."},
	{say: "/usage", want: "tokens this month."},
	{say: "/approvals", want: "No question waits for an answer here"},
	{say: "/allow", want: whichQuestion, unlisted: undecided},
	{say: "/deny", want: whichQuestion, unlisted: undecided},
	{say: "/always", want: whichQuestion, unlisted: undecided},
	{say: "/forget_me", want: "To do it, write here within 10 minutes: /forget_me ", in: leaving(), unlisted: unerased},
	{say: "/forget_me x", want: "That is another code", in: leaving(), unlisted: unerased},
	{say: "/connect", want: "Then I ask you in both places.", in: unconnected(), unlisted: unerased},
	{say: "/disconnect", want: "You are connected with nobody.", in: unconnected(), unlisted: unerased},
	{say: "/modle small", want: "There is no /modle. Did you mean /model?"},
	{say: "/status", want: "Dragoman "},
	{say: "/help start", want: "/start: say hello"},
	{say: "/new", want: "A new conversation begins. The old one is kept."},
}

// speaker is a person on a network's test server.
type speaker struct {
	sign  string // that begins commands; "": "/"
	say   func(text string)
	heard func() []string // the bot's texts to them so far
	menu  func() []string // the commands that the network offers for completion; nil: it has none
}

// commandModels configures two models and two personas on a channel, so that there is a
// choice.
func commandModels(h *house, channel string) string {
	return fmt.Sprintf("model: {type: openai, base_url: %s, name: fake, context_window: 100000, retries: 0, others: [{name: small}]}\n"+
		"agents: {cook: {prompt: Be a cook.}}\nbind: [{match: %s, agent: [dragoman, cook]}]", h.model.URL(), channel)
}

// commandNetworks are the columns of the matrix. Each starts one daemon.
var commandNetworks = map[string]func(*testing.T) speaker{
	"telegram":       func(t *testing.T) speaker { return onTelegram(t, false) },
	"telegram group": func(t *testing.T) speaker { return onTelegram(t, true) },
	"irc":            func(t *testing.T) speaker { return onIRC(t, false) },
	"irc channel":    func(t *testing.T) speaker { return onIRC(t, true) },
	"irc account":    onIRCWithAccount,
	"whatsapp":       func(t *testing.T) speaker { return onWhatsApp(t, false) },
	"whatsapp group": func(t *testing.T) speaker { return onWhatsApp(t, true) },
	"page":           onPage,
	"terminal":       onTerminal,
}

func onTelegram(t *testing.T, inGroup bool) speaker {
	h := newHouse(t, plan{})
	h.configure(plan{model: commandModels(h, "telegram"), channels: `allow: ["*"]`})
	h.start()
	chat := ann.ID
	say := func(text string) { h.tell(ann, text) }
	if inGroup {
		chat = -100200
		group := h.api.Supergroup(chat, "Team", false)
		say = func(text string) { group.Say(ann, inATelegramGroup(text)) }
	}
	return speaker{say: say, heard: func() []string { return h.api.FromBot(chat) }, menu: func() (names []string) {
		h.until("the menu", func() bool { return len(h.api.Commands(chat)) > 0 })
		for _, c := range h.api.Commands(chat) {
			names = append(names, c.Command)
		}
		return names
	}}
}

// inATelegramGroup addresses a command or a question to the bot.
func inATelegramGroup(text string) string {
	word, rest, _ := strings.Cut(text, " ")
	if strings.HasPrefix(word, "/") {
		return strings.TrimSpace(word + "@" + "dragoman_bot" + " " + rest)
	}
	return "@" + "dragoman_bot" + " " + text
}

func onIRC(t *testing.T, inChannel bool) speaker {
	server := ircd.StartNgircd(t, ircd.NgircdOptions{})
	n := 0
	return ircSpeaker(t, server.Addr(), inChannel, quickLines, func() (*ircd.Person, string) {
		nick := fmt.Sprintf("alice%d", n)
		n++
		return ircd.Join(t, server.Addr(), nick, "#go"), nick
	})
}

// onIRCWithAccount is a private talk of somebody who is logged in to services.
func onIRCWithAccount(t *testing.T) speaker {
	crowd := &ircCrowd{t: t, addr: servicesWith(t, "ann")}
	return ircSpeaker(t, crowd.addr, false, quickLines/2, func() (*ircd.Person, string) {
		p := crowd.comes("ann")
		return p, fmt.Sprintf("guest%d", crowd.n)
	})
}

// ircSpeaker talks on a server, by people who come one after the other and say that many lines
// each: whoever writes too much in a minute is taken for a program.
func ircSpeaker(t *testing.T, addr string, inChannel bool, lines int, comes func() (p *ircd.Person, nick string)) speaker {
	h := newHouse(t, plan{})
	h.configure(plan{model: commandModels(h, "libera"), channels: fmt.Sprintf(`allow: []
  libera:
    type: irc
    server: %s
    tls: false
    nick: dragoman
    channels: ["#go"]
    allow: ["*"]
    max_lines: 0
    flood: {burst: 100, every: 10ms}`, addr)})
	h.start()
	var people []*ircd.Person
	var nicks []string
	target := "dragoman"
	address := ""
	if inChannel {
		target = "#go"
		address = "dragoman: "
	}
	said := 0
	return speaker{
		sign: "!",
		say: func(text string) {
			if said%lines == 0 {
				p, nick := comes()
				people = append(people, p)
				nicks = append(nicks, nick)
			}
			said++
			people[len(people)-1].Say(target, address+text)
		},
		heard: func() (texts []string) {
			for i, p := range people {
				if inChannel {
					return p.Heard("dragoman", "#go") // the first one hears all
				}
				texts = append(texts, p.Heard("dragoman", nicks[i])...)
			}
			return texts
		},
	}
}

// quickLines is how many lines one person says on IRC in a row.
const quickLines = 10

func onWhatsApp(t *testing.T, inGroup bool) speaker {
	w := newWhatsApp(t)
	w.house.configure(plan{model: commandModels(w.house, "whatsapp"), channels: "enabled: false\n  whatsapp:\n    type: whatsapp\n    allow: [\"" + w.ann.Number() + "\"]"})
	w.begin()
	w.login()
	if !inGroup {
		return speaker{say: func(text string) { w.ann.Send(wasim.Note{Text: text}) }, heard: w.ann.Texts}
	}
	group := w.server.Group("Team", w.ann, w.server.Contact("+15550000003", "Bob"))
	owner := w.server.Owner().Number()
	say := func(text string) {
		n := wasim.Note{In: group, Text: text}
		if !strings.HasPrefix(text, "/") || slices.Contains(misspelt, text) { // which may be for another bot
			n.Text = "@" + strings.TrimPrefix(owner, "+") + " " + text
			n.Mention = []string{owner}
		}
		w.ann.Send(n)
	}
	return speaker{say: say, heard: group.Texts}
}

// misspelt are the commands of the rows that do not exist.
var misspelt = []string{"/hlep", "/modle small"}

// onPage is the page.
func onPage(t *testing.T) speaker {
	h := newHouse(t, plan{})
	h.configure(plan{model: commandModels(h, "web"), channels: "enabled: false", rest: `http: {listen: "127.0.0.1:0", token: "` + pageToken + `"}`})
	d := h.start()
	page := d.page(pageToken)
	return speaker{
		say: func(text string) { // by the verb that the page uses
			_, err := api.PutPrompt.Call(t.Context(), d.admin, api.Prompt{Key: channels.MustKey("web:default"), Text: text})
			if err != nil {
				t.Fatal(err)
			}
		},
		heard: func() (texts []string) {
			items, err := page.Feed(t.Context(), 0, 200)
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range items {
				if it.From == live.FromDragoman {
					texts = append(texts, it.Text)
				}
			}
			return texts
		},
		menu: func() (names []string) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			_ = page.Events(ctx, -1, func(e live.Event) {
				if e.Hello == nil {
					return
				}
				for _, c := range e.Hello.Commands {
					names = append(names, c.Name)
				}
				leave()
			})
			return names
		},
	}
}

// onTerminal is dragoman chat, which talks to the daemon over its socket. It completes
// commands only where a person types.
func onTerminal(t *testing.T) speaker {
	h := newHouse(t, plan{})
	h.configure(plan{model: commandModels(h, "cli"), channels: "enabled: false"})
	h.start()
	ctx, end := context.WithCancel(t.Context())
	cmd := h.command(ctx, "chat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := &testkit.Output{}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		_ = cmd.Wait() // it was killed
	})
	return speaker{
		say: func(text string) {
			if _, err := fmt.Fprintln(in, text); err != nil {
				t.Error(err)
			}
		},
		heard: func() []string {
			lines := strings.Split(out.String(), "\n")
			return lines[:len(lines)-1] // the last one may grow
		},
	}
}

// listed matches the list in the answer to a command that does not exist. /help has the same
// one, on some networks with a line for each.
var listed = regexp.MustCompile(`Did you mean [/!]help\? I know: ([/!a-z_, ]+)`)

// The commands are the same on every network, and so are their answers. What /help lists,
// what the network's menu offers and the rows of the matrix are the same commands.
func TestCommandsOnEveryNetwork(t *testing.T) {
	t.Parallel()
	for name, network := range commandNetworks {
		t.Run(name, func(t *testing.T) {
			s := network(t)
			for _, row := range commandRows {
				s.follow(t, name, row)
			}
			want := listedIn(name)
			list := listed.FindStringSubmatch(strings.Join(s.heard(), "\n"))
			if list == nil {
				t.Fatalf("no list in %q", s.heard())
			}
			known := strings.Split(strings.NewReplacer("/", "", "!", "").Replace(strings.TrimSpace(list[1])), ", ")
			slices.Sort(known)
			if !slices.Equal(known, want) {
				t.Errorf("the commands are %q, and the matrix has rows for %q", known, want)
			}
			if s.menu == nil {
				return
			}
			if offered := slices.Sorted(slices.Values(s.menu())); !slices.Equal(offered, want) {
				t.Errorf("the menu offers %q, and the matrix has rows for %q", offered, want)
			}
		})
	}
}

// listedIn are the commands of the rows that /help lists on a network, sorted.
func listedIn(network string) []string {
	rows := map[string]bool{}
	for _, row := range commandRows {
		word, _, _ := strings.Cut(row.say, " ")
		name, is := strings.CutPrefix(word, "/")
		if is && !strings.HasPrefix(row.want, "There is no /") && !slices.Contains(row.unlisted, network) {
			rows[name] = true
		}
	}
	return slices.Sorted(maps.Keys(rows))
}

// slowAnswer is how long an answer may take before its row has failed.
const slowAnswer = 30 * time.Second

// follow says what the row says, and waits for what it wants.
func (s speaker) follow(t *testing.T, network string, row commandRow) {
	t.Helper()
	want := row.want
	if other := row.in[network]; other != "" {
		want = other
	}
	say := row.say
	if s.sign != "" {
		say = spelled.ReplaceAllString(say, "${1}"+s.sign)
		want = spelled.ReplaceAllString(want, "${1}"+s.sign)
	}
	before := len(s.heard())
	s.say(say)
	answer := func() string { return strings.Join(s.heard()[before:], "\n") }
	if !testkit.Poll(slowAnswer, func() bool { return strings.Contains(answer(), want) }) {
		t.Fatalf("%s is answered with %q, want %q", say, answer(), want)
	}
}

// spelled matches the sign before a command.
var spelled = regexp.MustCompile(`(^| )/`)

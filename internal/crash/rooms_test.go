package crash_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/channeltest/ircd"
	"dragoman/channels/channeltest/wasim"
	"dragoman/internal/testkit"
)

// room is where somebody asks for something, or is told something.
type room struct {
	key      string
	settings string   // of the configuration
	env      []string // of the daemon
	// link, if there is one, links the daemon that runs to the network, for good.
	link func(p *program)
	say  func(p *program, dead <-chan error)
	// shown is what is to be read there. It fails while no daemon runs, if that is asked.
	shown func(p *program) ([]string, error)
	// never says that the network shows nothing twice, not even with the mark.
	never bool
}

// enter configures p for the room, and links it.
func (r room) enter(p *program) {
	p.t.Helper()
	p.configure(r.settings)
	p.env = r.env
	if r.link == nil {
		return
	}
	cmd := p.start("")
	dead := ended(cmd)
	r.link(p)
	_ = cmd.Process.Signal(os.Interrupt)
	<-dead
}

// onThePage is a room of the page, which knows a message that comes twice.
func onThePage(*testing.T) room {
	const key = "web:books"
	return room{
		key:   key,
		say:   func(p *program, dead <-chan error) { p.sayUntilTaken(key, "question-1", "remind me", dead) },
		shown: func(p *program) ([]string, error) { return p.tryFeed(key) },
	}
}

// onTelegram is a private chat with Telegram's test server. A message that may have arrived
// is repeated with a mark.
func onTelegram(t *testing.T) room {
	server, err := botapi.Start("127.0.0.1:0", botapi.Options{Token: "1000:" + strings.Repeat("TEST", 9)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	who := ann(0)
	private := server.Private(who) // as if they had written before
	return room{
		key:      fmt.Sprintf("telegram:%d", who.ID),
		settings: fmt.Sprintf("channels: {telegram: {type: telegram, token: %q, api_url: %s, allow: [%d], poll_timeout: 5s}}\n", server.Token(), server.URL(), who.ID),
		say:      func(*program, <-chan error) { private.Say(who, "remind me") },
		shown:    func(*program) ([]string, error) { return server.FromBot(who.ID), nil },
	}
}

// onIRC is a private talk with IRC's test server. A message that may have arrived is repeated
// with a mark.
func onIRC(t *testing.T) room {
	server := ircd.New(ircd.Config{})
	addr, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	who := ircd.Join(t, addr, "ann")
	plain := strings.NewReplacer("\x02", "", "\x1d", "", "\x0f", "")
	return room{
		key:      "irc:ann",
		settings: fmt.Sprintf("channels: {irc: {type: irc, server: %q, tls: false, nick: dragoman, allow: ['*'], flood: {burst: 100, every: 10ms}}}\n", addr),
		say: func(*program, <-chan error) {
			testkit.Eventually(t, "the bot on IRC", func() bool { return server.Present("dragoman", "") })
			who.Say("dragoman", "remind me")
		},
		shown: func(*program) (texts []string, err error) {
			for _, nick := range []string{"dragoman", "dragoman_"} { // while a dead connection has the first
				texts = append(texts, who.Heard(nick, "ann")...)
			}
			for i := range texts {
				texts[i] = plain.Replace(texts[i])
			}
			return texts, nil
		},
	}
}

// onWhatsApp is a private chat on the simulated WhatsApp, which shows a message once, however
// often it comes.
func onWhatsApp(t *testing.T) room {
	server := wasim.Start(t, wasim.Options{})
	who := server.Contact("+15550000002", "Ann")
	return room{
		key:      "whatsapp:" + who.Number(),
		settings: fmt.Sprintf("channels: {whatsapp: {type: whatsapp, allow: [%q]}}\n", who.Number()),
		env:      []string{fmt.Sprintf("DRAGOMAN_WASIM=%s,%x", server.Addr(), wasim.RootKey())},
		link: func(p *program) {
			said := linkPhone(t.Context(), t, server, p.command("login", "whatsapp", "--code", server.Owner().Number()))
			if !strings.Contains(said, "is linked to "+server.Owner().Number()) {
				t.Fatalf("login says %q", said)
			}
		},
		say:   func(*program, <-chan error) { who.Say("remind me") },
		shown: func(*program) ([]string, error) { return who.Texts(), nil },
		never: true,
	}
}

// count is how often text is in shown, without the mark of a repeat and with it.
func count(shown []string, text string) (plain, marked int) {
	for _, s := range shown {
		rest, again := strings.CutPrefix(s, repeatMark)
		switch {
		case !strings.HasPrefix(rest, text):
		case again:
			marked++
		default:
			plain++
		}
	}
	return plain, marked
}

// untilShown waits until all texts are in r, or the daemon is dead.
func (r room) untilShown(p *program, dead <-chan error, texts ...string) {
	p.t.Helper()
	var shown []string
	came := testkit.Poll(40*time.Second, func() bool {
		select {
		case <-dead:
			return true
		default:
		}
		list, err := r.shown(p)
		if err != nil {
			return false
		}
		shown = list
		return !slices.ContainsFunc(texts, func(text string) bool {
			plain, marked := count(shown, text)
			return plain+marked == 0
		})
	})
	if !came {
		p.t.Fatalf("not all of %q came: %q", texts, shown)
	}
}

// once wants that each text was shown once; again only with the mark.
func (r room) once(p *program, texts ...string) {
	p.t.Helper()
	shown, err := r.shown(p)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, text := range texts {
		plain, marked := count(shown, text)
		if plain > 1 || plain+marked == 0 || r.never && marked > 0 {
			p.t.Errorf("%q came %d times, and %d times with the mark: %q", text, plain, marked, shown)
		}
	}
}

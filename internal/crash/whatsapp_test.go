package crash_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/channels/channeltest/wasim"
	"dragoman/internal/testkit"
)

// whatsappCampaign is the campaign over the simulated WhatsApp: a network that
// shows a message once, so that nothing at all may be seen twice.
type whatsappCampaign struct {
	campaign
	server   *wasim.Server
	contacts []*wasim.Contact // one in each chat
}

func newWhatsAppCampaign(t *testing.T) *whatsappCampaign {
	t.Helper()
	c := &whatsappCampaign{}
	c.prepare(t, "sqlite", c.connect(t))
	return c
}

// connect makes c talk on a simulated WhatsApp, and returns its channel in the
// configuration.
func (c *whatsappCampaign) connect(t *testing.T) (channel string) {
	t.Helper()
	c.server, c.channel = wasim.Start(t, wasim.Options{}), "whatsapp"
	var allow []string
	for i := range chats {
		person := c.server.Contact(fmt.Sprintf("+1555000%04d", 100+i), "Ann")
		person.GoByPhone(i%2 == 0)
		c.contacts = append(c.contacts, person)
		allow = append(allow, strconv.Quote(person.Number()))
	}
	c.env = []string{fmt.Sprintf("DRAGOMAN_WASIM=%s,%x", c.server.Addr(), wasim.RootKey())}
	c.people = people{
		say:    func(chat int, text string) string { return c.contacts[chat].Say(text) },
		edit:   func(chat int, id, text string) { c.contacts[chat].Edit(id, text) },
		revoke: func(chat int, id string) { c.contacts[chat].Revoke(id) },
		name:   func(chat int) string { return c.contacts[chat].Number() },
		shown:  func(chat int) []string { return c.contacts[chat].Texts() },
		when: func(chat int) (times []time.Time) {
			for _, m := range c.contacts[chat].Received() {
				if !m.Deleted {
					times = append(times, m.Time)
				}
			}
			return times
		},
		idle: func() bool { return c.server.Pending() == 0 },
	}
	return "whatsapp: {type: whatsapp, allow: [" + strings.Join(allow, ", ") + "]}"
}

var codeForm = regexp.MustCompile(`[0-9A-Z]{4}-[0-9A-Z]{4}`)

// login links the daemon as an operator does, while it runs.
func (c *whatsappCampaign) login(ctx context.Context) {
	c.t.Helper()
	daemon := c.start("")
	defer func() {
		_ = daemon.Process.Signal(os.Interrupt)
		if err := daemon.Wait(); err != nil {
			c.t.Errorf("the daemon ended with %v after SIGINT", err)
		}
	}()
	// Before the daemon has its socket, login would do without it, and keep it
	// from starting.
	socket := filepath.Join(filepath.Dir(c.config), "state", "dragoman.sock")
	if !testkit.Poll(time.Minute, func() bool { _, err := os.Stat(socket); return err == nil }) {
		keepLog(c.t, c.log.Name())
		c.t.Fatal("the daemon did not start")
	}
	if said := c.tryLogin(ctx); !strings.Contains(said, "is linked to "+c.server.Owner().Number()) {
		keepLog(c.t, c.log.Name())
		c.t.Fatalf("login says %q", said)
	}
}

func (c *whatsappCampaign) tryLogin(ctx context.Context) string {
	cmd := exec.CommandContext(ctx, c.bin, "login", "whatsapp", "--code", c.server.Owner().Number(), "--config", c.config)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stderr = c.log
	return linkPhone(ctx, c.t, c.server, cmd)
}

// linkPhone runs the command that links a daemon, types the code that it shows into the
// owner's phone, and returns what it says.
func linkPhone(ctx context.Context, t *testing.T, server *wasim.Server, cmd *exec.Cmd) string {
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if code := codeForm.FindString(lines.Text()); code != "" {
			if err := server.EnterCode(ctx, code); err != nil {
				t.Errorf("EnterCode = %v", err)
			}
		}
	}
	_ = cmd.Wait() // what it says counts
	return said.String()
}

// copies counts what came more than once and was shown once.
func (c *whatsappCampaign) copies() (n int) {
	for _, person := range c.contacts {
		for _, m := range person.Received() {
			n += m.Copies - 1
		}
	}
	return n
}

func TestWhatsAppCampaign(t *testing.T) {
	besideOthers(t)
	c := newWhatsAppCampaign(t)
	patience, done := context.WithTimeout(t.Context(), 2*time.Minute)
	defer done()
	c.login(patience)
	v := c.run(wanted(t, 9), "crash-whatsapp", func(verdict) []line {
		return []line{
			{"messages changed afterwards", c.talk.edits},
			{"messages taken back", c.talk.takes},
			{"sent again under the same id, and shown once", c.copies()},
		}
	})
	if v.marked > 0 || v.repeated > 0 {
		t.Errorf("%d answers carry the mark of a possible repeat, want none on a network that deduplicates", v.marked)
	}
}

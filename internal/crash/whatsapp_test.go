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

	"dragoman/agent/agenttest"
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
	c := &whatsappCampaign{server: wasim.Start(t, wasim.Options{})}
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "daemon.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	c.campaign = campaign{
		t: t, bin: build(t), log: log, config: filepath.Join(dir, "dragoman.yaml"), store: "sqlite",
		env: []string{fmt.Sprintf("DRAGOMAN_WASIM=%s,%x", c.server.Addr(), wasim.RootKey())},
	}
	c.model = agenttest.Serve(t, agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return c.unrest.reply }, Recorded: -1})
	c.people = people{
		say:    func(chat int, text string) string { return c.contacts[chat].Say(text) },
		edit:   func(chat int, id, text string) { c.contacts[chat].Edit(id, text) },
		revoke: func(chat int, id string) { c.contacts[chat].Revoke(id) },
		name:   func(chat int) string { return c.contacts[chat].Number() },
		shown:  func(chat int) []string { return c.contacts[chat].Texts() },
		idle:   func() bool { return c.server.Pending() == 0 },
	}
	var allow []string
	for i := range chats {
		person := c.server.Contact(fmt.Sprintf("+1555000%04d", 100+i), "Ann")
		person.GoByPhone(i%2 == 0)
		c.contacts = append(c.contacts, person)
		allow = append(allow, strconv.Quote(person.Number()))
	}
	text := fmt.Sprintf(`
state_dir: %s
http: {listen: "off"}
log: {level: info}
model: {type: openai, base_url: %s, name: fake, context_window: 200000}
summary: {trigger: {messages: 30}, keep: {n: 8}}
queue: {rate_per_minute: 0, max_waiting: 1000}
channels:
  whatsapp: {type: whatsapp, allow: [%s]}
`, filepath.Join(dir, "state"), c.model.URL(), strings.Join(allow, ", "))
	if err := os.WriteFile(c.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
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
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd.Stderr = c.log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if code := codeForm.FindString(lines.Text()); code != "" {
			if err := c.server.EnterCode(ctx, code); err != nil {
				c.t.Errorf("EnterCode = %v", err)
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
	kills := wanted(t, 16)
	began := time.Now()
	c := newWhatsAppCampaign(t)
	patience, done := context.WithTimeout(t.Context(), 2*time.Minute)
	defer done()
	c.login(patience)
	steps, random := c.disturb(kills)
	atStep := 0
	for _, n := range steps {
		atStep += n
	}
	c.settle()
	v := c.verdict()
	t.Logf("%d messages, %d kills at steps, %d at random moments: %d answers, %d flaws, %d twice, %d disordered, %d marked; %d came again and were shown once",
		c.talk.messages, atStep, random, v.answers, len(v.flaws), len(v.twice), len(v.disordered), v.marked, c.copies())
	v.check(t)
	accounted(t, c.log.Name())
	if v.marked > 0 || v.repeated > 0 {
		t.Errorf("%d answers carry the mark of a possible repeat, want none on a network that deduplicates", v.marked)
	}
	if t.Failed() {
		keepLog(t, c.log.Name())
		return
	}
	if path := os.Getenv("DRAGOMAN_REPORT"); path != "" {
		if err := writeSection(path, "crash-whatsapp", c.table(v, atStep, random, time.Since(began))); err != nil {
			t.Error(err)
		}
	}
}

// table is what the campaign measured, for the document.
func (c *whatsappCampaign) table(v verdict, atStep, random int, took time.Duration) string {
	var b strings.Builder
	b.WriteString("| what | number |\n|---|---|\n")
	for _, line := range []struct {
		what  string
		value any
	}{
		{"kills (SIGKILL)", atStep + random},
		{"of those at a named step", atStep},
		{"of those at a random moment", random},
		{"messages, over " + strconv.Itoa(chats) + " chats", c.talk.messages},
		{"/stop said", c.talk.stops},
		{"messages changed afterwards", c.talk.edits},
		{"messages taken back", c.talk.takes},
		{"outages of the model", c.silences},
		{"**lost, or dropped without a /stop for it**", len(v.flaws)},
		{"**out of order within a chat**", len(v.disordered)},
		{"**seen twice**", len(v.twice) + v.repeated},
		{"sent again under the same id, and shown once", c.copies()},
		{"answers", v.answers},
		{"campaign", took.Round(time.Second)},
	} {
		fmt.Fprintf(&b, "| %s | %v |\n", line.what, line.value)
	}
	return b.String()
}

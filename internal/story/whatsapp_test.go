package story_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/wasim"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// simulating is the program as tests of crashes have it: the only build that
// can be told to take the simulated WhatsApp for the real one.
var simulating = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(filepath.Dir(binary), "dragoman-simulating")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-tags", "crashpoints", "-o", bin, "dragoman/cmd/dragoman")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return bin, nil
})

// whatsapp is a house with a WhatsApp channel and nothing else that a network
// has to be reached for.
type whatsapp struct {
	*house
	*daemon // the one that runs
	server  *wasim.Server
	ann     *wasim.Contact
	dials   int // as counted so far
}

func newWhatsApp(t *testing.T) *whatsapp {
	t.Helper()
	return newWhatsAppAs(t, plan{})
}

func newWhatsAppAs(t *testing.T, p plan) *whatsapp {
	t.Helper()
	h := newHouse(t, p)
	bin, err := simulating()
	if err != nil {
		t.Fatal(err)
	}
	s := wasim.Start(t, wasim.Options{})
	w := &whatsapp{house: h, server: s, ann: s.Contact("+15550000002", "Ann")}
	h.bin, h.env = bin, []string{fmt.Sprintf("DRAGOMAN_WASIM=%s,%x", s.Addr(), wasim.RootKey())}
	w.settings("")
	return w
}

// settings writes a configuration with these settings of the channel.
func (w *whatsapp) settings(more string) {
	w.t.Helper()
	w.house.configure(plan{channels: "enabled: false\n  whatsapp:\n    type: whatsapp\n    allow: [\"" + w.ann.Number() + "\"]\n    " + more})
}

// begin starts the daemon, whatever becomes of its channels.
func (w *whatsapp) begin() {
	w.t.Helper()
	w.daemon = w.house.launch()
}

// again starts it anew.
func (w *whatsapp) again() {
	w.t.Helper()
	w.end(syscall.SIGTERM)
	w.begin()
}

// condition is how the channel is to be seen everywhere.
type condition struct {
	state  channels.State
	reason string
	// says is how the detail begins, and what it tells to do.
	says, do string
}

// sees waits for a condition and then looks for it everywhere. On a slow
// machine the channel may have gone on meanwhile; then it looks again.
func (w *whatsapp) sees(c condition) {
	w.t.Helper()
	for deadline := time.Now().Add(most); ; {
		before := w.reaches(c)
		wrong := w.look(c, before)
		if len(wrong) == 0 {
			return
		}
		s, err := api.ReadStatus.Call(w.t.Context(), w.admin, api.None{})
		if err == nil && !s.Channels["whatsapp"].Since.Equal(before.Since) && time.Now().Before(deadline) {
			continue
		}
		for _, text := range wrong {
			w.t.Error(text)
		}
		return
	}
}

// reaches waits for a condition.
func (w *whatsapp) reaches(c condition) (got api.ChannelStatus) {
	w.t.Helper()
	testkit.Eventually(w.t, "the channel to be "+string(c.state)+" "+c.reason, func() bool {
		s, err := api.ReadStatus.Call(w.t.Context(), w.admin, api.None{})
		got = s.Channels["whatsapp"]
		return err == nil && got.State == c.state && got.Reason == c.reason && strings.HasPrefix(got.Detail, c.says)
	})
	return got
}

// look returns what is wrong with how a condition is seen: in status, in the
// probes, in the metrics, and in the page's list.
func (w *whatsapp) look(c condition, got api.ChannelStatus) (wrong []string) {
	w.t.Helper()
	not := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	not(strings.Contains(got.Detail, c.do), "%s: the detail %q does not say what to do: %q", c.state, got.Detail, c.do)
	line := regexp.MustCompile(`(?m)^whatsapp +` + string(c.state) + `(: |$)` + regexp.QuoteMeta(c.says))
	out := w.dragoman("status")
	not(line.MatchString(out) && strings.Contains(out, c.do), "status does not show %+v:\n%s", c, out)
	code, body := w.get("/healthz")
	not(code == http.StatusOK, "/healthz = %d %s: a channel's trouble is not the store's", code, body)
	code, body = w.read("/readyz")
	ready := decode[struct {
		Reason   string
		Channels map[string]channels.Status
	}](w.t, body)
	shown := ready.Channels["whatsapp"]
	// A channel that its owner never linked, or unlinked, is in no probe's way.
	unused := c.reason == "needs_pairing" && !strings.Contains(c.says, "removed on the phone")
	status, says := http.StatusServiceUnavailable, c.says
	if c.state == channels.StateConnected || unused {
		status, says = http.StatusOK, ""
	}
	not(code == status && strings.Contains(ready.Reason, says) && shown.Unused == unused && shown.State == c.state && shown.Reason == c.reason && strings.Contains(shown.Detail, c.do),
		"/readyz = %d %s, want %+v", code, body, c)
	word := c.reason
	if word == "" {
		word = string(c.state)
	}
	_, body = w.read("/metrics")
	gauges := regexp.MustCompile(`(?m)^dragoman_channel_state\{channel="whatsapp".*$`).FindAllString(body, -1)
	want := fmt.Sprintf(`dragoman_channel_state{channel="whatsapp",state="%s"} 1`, word)
	not(len(gauges) == 1 && gauges[0] == want, "the metrics say %q, want %q alone", gauges, want)
	_, body = w.read("/api/v1/channels")
	not(strings.Contains(body, `"name":"whatsapp","type":"whatsapp","linkable":true,"linked":`+fmt.Sprint(c.reason != string(channels.ReasonPairing))+`,"state":"`+string(c.state)+`"`), "the page lists %s, want %+v", body, c)
	return wrong
}

// dialled checks how often WhatsApp was dialled since it was asked the last
// time.
func (w *whatsapp) dialled(want int) {
	w.t.Helper()
	all := w.server.Count("dial")
	if got := all - w.dials; got != want {
		w.t.Errorf("WhatsApp was dialled %d times, want %d", got, want)
	}
	w.dials = all
}

// still gives a loop time to show: there are pauses of a tenth of a second
// between the first attempts of one.
func (w *whatsapp) still(want int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 700*time.Millisecond)
	defer cancel()
	_ = w.server.Wait(ctx, func() bool { return w.server.Count("dial")-w.dials > want })
	w.dialled(want)
}

// refuses wants the command to fail and to say nothing else than that.
func (w *whatsapp) refuses(want string, args ...string) {
	w.t.Helper()
	if out, err := w.try(args...); err == nil || out != want {
		w.t.Errorf("dragoman %s = %v and says %q, want an error and %q", strings.Join(args, " "), err, out, want)
	}
}

// login links the channel with the command, by a code.
func (w *whatsapp) login() {
	t := w.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	cmd := w.command(ctx, "login", "whatsapp", "--code", w.server.Owner().Number())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); said += lines.Text() + "\n" {
		if code := codeForm.FindString(lines.Text()); code != "" {
			if err := w.server.EnterCode(ctx, code); err != nil {
				t.Errorf("EnterCode = %v", err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(said, "whatsapp is linked to "+w.server.Owner().Number()) {
		t.Fatalf("login = %v and says %q", err, said)
	}
}

var codeForm = regexp.MustCompile(`[0-9A-Z]{4}-[0-9A-Z]{4}`)

// pageLine is what the page is told while it links.
type pageLine struct {
	Picture       any
	Code, Account string
	Failure       struct{ Error string }
	Error         struct{ Message string } // a refusal, in place of lines
}

// linking begins to link as the page does, and returns what it is told.
func (w *whatsapp) linking(ctx context.Context, phone string) (next func() pageLine) {
	t := w.t
	t.Helper()
	s, err := api.ReadStatus.Call(ctx, w.admin, api.None{})
	if err != nil {
		t.Fatal(err)
	}
	body := strings.NewReader(fmt.Sprintf(`{"phone": %q, "picture": true}`, phone))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.Listen+api.Root+"/channels/whatsapp/link", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Dragoman", "1")
	r.Header.Set("Cookie", w.linked())
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	lines := json.NewDecoder(resp.Body)
	return func() (l pageLine) {
		t.Helper()
		if err := lines.Decode(&l); err != nil {
			t.Fatalf("linking on the page: %v", err)
		}
		return l
	}
}

// loginOnPage links the channel as the page does.
func (w *whatsapp) loginOnPage() {
	t := w.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	next := w.linking(ctx, w.server.Owner().Number())
	if err := w.server.EnterCode(ctx, next().Code); err != nil {
		t.Fatalf("EnterCode = %v", err)
	}
	if l := next(); l.Account != w.server.Owner().Number() {
		t.Fatalf("linking on the page ends with %+v", l)
	}
}

// answers proves that the channel is of use.
func (w *whatsapp) answers(text string) {
	w.t.Helper()
	before := len(w.ann.Texts())
	w.ann.Say(text)
	testkit.Eventually(w.t, "an answer to "+text, func() bool { return len(w.ann.Texts()) > before })
	if got := w.ann.Texts()[before]; got != "echo: "+text {
		w.t.Errorf("the answer = %q", got)
	}
}

var (
	notLinked = condition{channels.StateFailed, "needs_pairing", "needs pairing: this device is not linked to a phone", "run: dragoman login whatsapp"}
	connected = condition{state: channels.StateConnected}
)

// What WhatsApp can have against a device, from the first start on: each state
// is seen wherever an operator looks, says what to do, and is no reason to
// knock at WhatsApp's door again and again.
func TestWhatsAppStates(t *testing.T) {
	w := newWhatsApp(t)
	w.begin()
	w.sees(notLinked)
	w.still(0)
	w.login()
	w.sees(connected)
	w.dialled(3) // to pair, to be seen online, and to stay
	w.refuses("dragoman: this device is already linked, and connected; to link another phone, log out first: dragoman logout whatsapp\n", "login")
	w.refuses("dragoman: the configuration has no channel \"cli\" of type whatsapp; name one of these: whatsapp\n", "login", "cli")
	w.refuses("dragoman: the configuration has no channel \"cli\" of type whatsapp; name one of these: whatsapp\n", "logout", "cli")
	w.answers("hello #1")

	w.server.Faults.HoldGreetings(true)
	w.server.Faults.Drop()
	w.sees(condition{state: channels.StateConnecting})
	w.server.Faults.HoldGreetings(false)
	w.sees(connected)
	w.dials = w.server.Count("dial") // one, if nobody had to wait for long

	w.server.Faults.Replace()
	w.sees(condition{channels.StateFailed, "replaced", "replaced: another program uses this same linked device", "stop that program, then restart"})
	w.still(0)
	w.again()
	w.sees(connected)
	w.dialled(1)

	w.server.Faults.FailLogins(402, -1)
	w.server.Faults.Drop()
	w.sees(condition{channels.StateDown, "banned", "banned until 20", "it will connect again after that"})
	w.still(1)
	w.server.Faults.FailLogins(0, 0)
	w.again()
	w.sees(connected)
	w.dialled(1)

	w.server.Faults.Remove()
	removed := notLinked
	removed.says = "needs pairing: the device was removed on the phone"
	w.sees(removed)
	w.still(0)
	w.loginOnPage() // and no restart
	w.sees(connected)
	w.dialled(3)
	w.answers("hello again #2")
	if said := w.out.String(); codeForm.MatchString(said) {
		t.Errorf("the daemon wrote a code down:\n%s", said)
	}
}

// Logging out, with the daemon and without, and linking again.
func TestWhatsAppLogout(t *testing.T) {
	w := newWhatsApp(t)
	w.begin()
	w.login()
	w.answers("hello #1")
	if out := w.dragoman("logout", "whatsapp"); !strings.Contains(out, "whatsapp is no longer linked to a phone") || strings.Contains(out, "could not be reached") {
		t.Errorf("logout says %q", out)
	}
	out := notLinked
	out.says = "needs pairing: "
	w.sees(out)
	w.ann.Say("anybody there?")
	if n := w.server.Pending(); n != 0 {
		t.Errorf("WhatsApp keeps %d messages for the device, want that it knows none", n)
	}
	w.login() // and no restart
	w.answers("hello again #2")
	w.end(syscall.SIGTERM)

	for _, attempt := range []string{"first", "second, of nothing"} {
		if out := w.dragoman("logout", "whatsapp"); !strings.Contains(out, "whatsapp is no longer linked to a phone") || strings.Contains(out, "could not be reached") {
			t.Errorf("logout without a daemon, %s, says %q", attempt, out)
		}
	}
	w.login() // without a daemon
	w.begin()
	w.sees(connected)
	w.end(syscall.SIGTERM)

	w.server.Faults.RefuseDials(-1)
	if out := w.dragoman("logout", "whatsapp"); !strings.Contains(out, "could not be reached, so remove the device on the phone too") {
		t.Errorf("logout without a network says %q", out)
	}
	w.begin()
	w.sees(notLinked)
}

// Whoever asks last for a code gets it, a number that is none gets none, and a
// code that is shown keeps no daemon from stopping.
func TestWhatsAppLinkingEnds(t *testing.T) {
	w := newWhatsApp(t)
	w.begin()
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	if l := w.linking(ctx, "0170 123")(); !strings.HasPrefix(l.Error.Message, "the number must be complete") {
		t.Errorf("a number that is none gets %+v", l)
	}
	page := w.linking(ctx, "")
	if l := page(); l.Picture == nil {
		t.Fatalf("the page is told %+v, want a picture", l)
	}
	w.login()
	if l := page(); l.Failure.Error != "linking continues in another terminal or page" {
		t.Errorf("the page whose code was replaced is told %+v", l)
	}
	w.sees(connected)
	w.dragoman("logout", "whatsapp")
	page = w.linking(ctx, "")
	page()
	w.end(syscall.SIGTERM)
	if l := page(); l.Failure.Error != "the daemon is stopping" {
		t.Errorf("the page of a daemon that stops is told %+v", l)
	}
}

// A version that WhatsApp takes no more is said to be so and is not tried
// again; one that the configuration names, or that WhatsApp's own page names,
// is what the device then claims to be.
func TestWhatsAppVersion(t *testing.T) {
	w := newWhatsApp(t)
	w.begin()
	w.login()
	w.sees(connected)
	claims := func(want [3]uint32) {
		t.Helper()
		all := w.server.Claimed()
		if got := all[len(all)-1]; got != want {
			t.Errorf("the device claims version %v, want %v", got, want)
		}
	}
	asked := w.server.Count("front")
	demand := [3]uint32{2, 3000, 2_000_000_000}
	w.dialled(3)
	w.server.Faults.Demand(demand)
	w.server.Faults.Drop()
	old := condition{channels.StateFailed, "outdated", "outdated: WhatsApp refuses version 2.3000.", "web_version: auto"}
	w.sees(old)
	w.still(1)

	w.settings("web_version: 2.3000.1999999999") // still too old
	w.again()
	old.says += "1999999999"
	w.sees(old)
	claims([3]uint32{2, 3000, 1_999_999_999})
	w.still(1)

	w.settings("web_version: 2.3000.2000000001")
	w.again()
	w.sees(connected)
	claims([3]uint32{2, 3000, 2_000_000_001})
	if got := w.server.Count("front"); got != asked {
		t.Errorf("the current version was asked for %d times without a wish for it", got-asked)
	}

	w.settings("web_version: auto")
	w.again()
	w.sees(connected)
	claims(demand)
	w.answers("hello #1")
	w.dialled(2)
	if got := w.server.Count("front") - asked; got != 1 {
		t.Errorf("the current version was asked for %d times, want once", got)
	}
}

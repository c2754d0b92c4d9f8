package story_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/agent/agenttest"
	"dragoman/agent/mcp/mcptest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
)

// most is how long anything here may take before it counts as stuck.
const most = time.Minute

// binary is the program under test, built by TestMain.
var binary string

func TestMain(m *testing.M) {
	mcptest.Main() // a server of tools
	os.Exit(inFolder(m))
}

func inFolder(m *testing.M) int {
	dir, err := os.MkdirTemp("", "dragoman-story")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = os.Getenv(builtBinary)
	if binary != "" {
		return m.Run()
	}
	binary = filepath.Join(dir, "dragoman")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "dragoman/cmd/dragoman")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	pgtest.Stop()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// house is one machine with Dragoman on it, and the servers that it talks to.
type house struct {
	t      *testing.T
	dir    string
	state  string
	config string
	bin    string   // the program
	env    []string // what it is told beside the configuration
	api    *botapi.Server
	model  *agenttest.Server
	gates  gates
}

// plan says what a house is like. The zero value has one Telegram bot that
// answers everybody.
type plan struct {
	channels string // in place of the Telegram bot's allow list and the like
	rest     string // more of the configuration
	model    string // in place of the model server's settings
	state    string // the state directory; "": one in the house's folder
	options  agenttest.Options
	drafts   bool // Telegram shows drafts
}

const token = "1000:TESTTESTTESTTESTTESTTESTTESTTESTTEST"

func newHouse(t *testing.T, p plan) *house {
	t.Helper()
	t.Parallel()
	testkit.Sources(t)
	h := &house{t: t, dir: t.TempDir(), state: p.state, bin: binary}
	var err error
	if h.api, err = botapi.Start("127.0.0.1:0", botapi.Options{Token: token, Drafts: p.drafts}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.api.Close)
	if p.options.Reply == nil {
		p.options.Reply = func(*agenttest.Request) agenttest.Reply { return h.reply }
	}
	h.model = agenttest.Serve(t, p.options)
	h.config = filepath.Join(h.dir, "dragoman.yaml")
	if h.state == "" {
		h.state = filepath.Join(h.dir, "state")
	}
	h.configure(p)
	return h
}

// configure writes the configuration; the daemon reads it at its next start,
// or at a SIGHUP.
func (h *house) configure(p plan) {
	h.t.Helper()
	or := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	text := fmt.Sprintf("state_dir: %s\n%s\n%s\nchannels:\n  telegram:\n    type: telegram\n    token: %q\n    api_url: %s\n    poll_timeout: 5s\n    %s\n",
		h.state,
		or(p.model, fmt.Sprintf("model: {type: openai, base_url: %s, name: fake, context_window: 100000, retries: 0}", h.model.URL())),
		p.rest, h.api.Token(), h.api.URL(), or(p.channels, `allow: ["*"]`))
	if !strings.Contains(text, "http: {") {
		text = "http: {listen: \"127.0.0.1:0\"}\n" + text
	}
	if err := os.WriteFile(h.config, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// gates hold answers back until a test opens them.
type gates struct {
	mu sync.Mutex
	m  map[string]chan struct{}
}

func (g *gates) gate(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.m == nil {
		g.m = make(map[string]chan struct{})
	}
	if g.m[name] == nil {
		g.m[name] = make(chan struct{})
	}
	return g.m[name]
}

func (g *gates) open(name string) { close(g.gate(name)) }

// reply is the model: it echoes. A message with "!hold NAME" in it gets the
// beginning of an answer, and the rest when the gate of that name is opened.
func (h *house) reply(x *agenttest.Exchange) {
	text := x.Request.LastUser()
	if len(x.Request.Tools) == 0 {
		x.Text("## Progress\nSUMMARY OF WHAT WAS SAID. An echo of messages.")
		x.End("stop")
		return
	}
	_, rest, found := strings.Cut(text, "!hold ")
	if !found {
		agenttest.EchoReply(x)
		return
	}
	name, _, _ := strings.Cut(rest, " ")
	x.Text("<think>An echo.</think>", "This is ", "the beginning ") // what comes after thoughts is shown at once
	gate := h.gates.gate(name)
	for open := false; !open; {
		select {
		case <-gate:
			open = true
		default:
			x.Wait(10 * time.Millisecond) // ends the reply if the client is gone
		}
	}
	x.Text("and the end of "+name+". ", strings.Join(agenttest.Marks(text), " "))
	x.End("stop")
}

// daemon is one run of the program.
type daemon struct {
	*house
	cmd     *exec.Cmd
	out     *testkit.Output
	admin   *api.Client
	session string // see linked
	ended   chan error
	over    bool
}

// start runs the daemon and returns when all its channels are connected.
func (h *house) start(env ...string) *daemon {
	h.t.Helper()
	d := h.launch(env...)
	testkit.Eventually(d.t, "every channel to be connected", func() bool {
		s, err := api.ReadStatus.Call(h.t.Context(), d.admin, api.None{})
		if err != nil {
			return false
		}
		for _, c := range s.Channels {
			if c.State != "connected" {
				return false
			}
		}
		return true
	})
	return d
}

// launch runs the daemon and returns when it can be talked to.
func (h *house) launch(env ...string) *daemon {
	h.t.Helper()
	d := &daemon{house: h, out: &testkit.Output{}, ended: make(chan error, 1)}
	d.cmd = exec.Command(h.bin, "run", "--config", h.config)
	d.cmd.Stdout, d.cmd.Stderr = d.out, d.out
	d.cmd.Env = append(h.environment(), env...)
	d.cmd.Dir = h.dir
	if err := d.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { d.ended <- d.cmd.Wait() }()
	d.admin = api.Dial(filepath.Join(h.state, "dragoman.sock"))
	h.t.Cleanup(func() {
		d.admin.Close()
		if !d.over {
			d.end(syscall.SIGTERM)
		}
		if h.t.Failed() {
			h.t.Logf("the daemon's words:\n%s", d.out)
		}
	})
	testkit.Eventually(d.t, "the daemon to answer", func() bool {
		_, err := api.ReadStatus.Call(h.t.Context(), d.admin, api.None{})
		return err == nil
	})
	return d
}

// environment is an empty one: nothing of the machine's may show through.
func (h *house) environment() []string {
	return append([]string{"HOME=" + h.dir, "PATH=/usr/bin:/bin", "TZ=UTC"}, h.env...)
}

// end sends a signal and waits for the end of the process, which must be a
// good one.
func (d *daemon) end(s syscall.Signal) {
	d.t.Helper()
	_ = d.cmd.Process.Signal(s)
	d.wait()
}

func (d *daemon) wait() {
	d.t.Helper()
	d.over = true
	defer d.accounted()
	select {
	case err := <-d.ended:
		if err != nil {
			d.t.Errorf("the daemon ended with %v, want exit code 0", err)
		}
	case <-time.After(most):
		_ = d.cmd.Process.Kill()
		d.t.Errorf("the daemon did not end in %s", most)
	}
}

// accounted wants that each request showed the whole conversation, or a summary
// of what it did not. The daemon logs what it counts in
// dragoman_messages_unaccounted_total: in silence, and said to the model.
func (d *daemon) accounted() {
	d.t.Helper()
	for _, words := range []string{"passed over messages", "context truncated"} {
		if strings.Contains(d.out.String(), words) {
			d.t.Errorf("a request to the model lacked messages: the daemon logged %q:\n%s", words, d.out)
		}
	}
}

// until waits for something that the Telegram server sees.
func (h *house) until(what string, done func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), most)
	defer cancel()
	if err := h.api.Until(ctx, done); err != nil {
		h.t.Fatalf("waited for %s in vain: %v", what, err)
	}
}

// said waits until the bot shows n finished messages in chat, and returns
// them. Previews end with "…" and are none.
func (h *house) said(chat int64, n int) []string {
	h.t.Helper()
	var all []string
	h.until(fmt.Sprintf("%d messages of the bot in chat %d", n, chat), func() bool {
		all = finished(h.api.FromBot(chat))
		return len(all) >= n
	})
	if len(all) > n {
		h.t.Errorf("the bot said %d things in chat %d, want %d: %q", len(all), chat, n, all)
	}
	return all
}

func finished(texts []string) []string {
	var all []string
	for _, s := range texts {
		if !strings.HasSuffix(s, "…") {
			all = append(all, s)
		}
	}
	return all
}

// tell writes to the bot in private.
func (h *house) tell(who botapi.User, text string) int64 {
	return h.api.Private(who).Say(who, text)
}

// asked are the model's requests that answer people; summaries are none.
func (h *house) asked() []*agenttest.Request {
	var list []*agenttest.Request
	for _, r := range h.model.Requests() {
		if len(r.Tools) > 0 {
			list = append(list, r)
		}
	}
	return list
}

// dragoman runs a command of the operator's and returns what it prints. That
// status ends with 1 says that something is wrong, which its words say too.
func (h *house) dragoman(args ...string) string {
	h.t.Helper()
	out, err := h.try(args...)
	var exit *exec.ExitError
	if err != nil && (args[0] != "status" || !errors.As(err, &exit) || exit.ExitCode() != 1) {
		h.t.Errorf("dragoman %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// try runs a command. The hints that it gives begin with the program as it was
// started, which stories call by its name.
func (h *house) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(h.t.Context(), most)
	defer cancel()
	out, err := h.command(ctx, args...).CombinedOutput()
	return strings.ReplaceAll(string(out), h.bin, "dragoman"), err
}

func (h *house) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.bin, args...)
	cmd.Env = append(h.environment(), "DRAGOMAN_CONFIG="+h.config)
	cmd.Dir = h.dir
	return cmd
}

// decode reads what a command printed with --json.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// get reads a page of the daemon's HTTP server.
func (d *daemon) get(path string, header ...string) (int, string) {
	d.t.Helper()
	s, err := api.ReadStatus.Call(d.t.Context(), d.admin, api.None{})
	if err != nil {
		d.t.Fatal(err)
	}
	return fetch(d.t, "http://"+s.Listen+path, header...)
}

// read is get with the session of whoever runs Dragoman.
func (d *daemon) read(path string) (int, string) {
	d.t.Helper()
	return d.get(path, "Cookie", d.linked())
}

// linked is the cookie of a session with all scopes, which a one-time link begins.
func (d *daemon) linked() string {
	d.t.Helper()
	if d.session != "" {
		return d.session
	}
	link, err := api.MakeConsoleLink.Call(d.t.Context(), d.admin, api.None{})
	if err != nil {
		d.t.Fatal(err)
	}
	page, secret, _ := strings.Cut(link.URL, "/login#link=")
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, page+"/login/link", strings.NewReader(`{"secret":"`+secret+`"}`))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Origin", page)
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if len(resp.Cookies()) != 1 {
		d.t.Fatalf("the login by a link = %s", resp.Status)
	}
	d.session = resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value
	return d.session
}

func fetch(t *testing.T, url string, header ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

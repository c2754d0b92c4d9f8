package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/channels/live"
	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/config"
	"dragoman/internal/storage"
	"dragoman/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// most is how long anything here may take before it counts as stuck.
const most = time.Minute

// place is a folder with a configuration in it.
type place struct {
	t    *testing.T
	dir  string
	path string // of the configuration
}

// newPlace writes a configuration: what every test here wants, and text.
func newPlace(t *testing.T, text string) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{t: t, dir: dir, path: filepath.Join(dir, "dragoman.yaml")}
	p.write(text)
	return p
}

func (p *place) write(text string) {
	p.t.Helper()
	if !strings.Contains(text, "http: {") {
		text += "\nhttp: {listen: \"127.0.0.1:0\"}"
	}
	if !strings.Contains(text, "model: {") {
		text += "\nmodel: {type: demo}"
	}
	if err := os.WriteFile(p.path, []byte("state_dir: state\n"+text+"\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) state(name string) string { return filepath.Join(p.dir, "state", name) }

func (p *place) load() (*config.Config, error) {
	cfg, _, err := app.LoadConfig(config.Options{
		Path: p.path, Home: p.dir, Dir: p.dir,
		Env: func(string) (string, bool) { return "", false },
	})
	return cfg, err
}

func (p *place) config() *config.Config {
	p.t.Helper()
	cfg, err := p.load()
	if err != nil {
		p.t.Fatal(err)
	}
	return cfg
}

// refused opens a daemon that must not open, and returns what it says.
func (p *place) refused() string {
	p.t.Helper()
	d, err := app.Open(p.t.Context(), p.config(), app.Options{})
	if err == nil {
		_ = d.Close()
		p.t.Fatal("Open = nil, want an error")
	}
	if d != nil {
		p.t.Errorf("Open returned a daemon beside its error")
	}
	return err.Error()
}

// opens proves that nothing is in the way of a daemon.
func (p *place) opens() {
	p.t.Helper()
	d, err := app.Open(p.t.Context(), p.config(), app.Options{})
	if err != nil {
		p.t.Fatalf("Open = %v, want a daemon", err)
	}
	if err := d.Close(); err != nil {
		p.t.Errorf("Close = %v", err)
	}
}

// running is a daemon that serves in this process.
type running struct {
	*place
	daemon *app.Daemon
	log    *testkit.Output
	level  *slog.LevelVar
	hangup chan struct{}
	admin  *api.Client
	stop   func()

	session *http.Cookie // see linked
}

// run starts a daemon and waits until it can be talked to.
func (p *place) run(change ...func(*app.Options)) *running {
	p.t.Helper()
	r := &running{place: p, log: &testkit.Output{}, level: new(slog.LevelVar), hangup: make(chan struct{})}
	o := app.Options{
		Caller: storage.Caller{Version: "v-test"}, Out: r.log, Level: r.level, Hangup: r.hangup, Reload: p.load,
		Logger: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: r.level})),
	}
	for _, f := range change {
		f(&o)
	}
	d, err := app.Open(p.t.Context(), p.config(), o)
	if err != nil {
		p.t.Fatal(err)
	}
	r.daemon = d
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	client, release, err := app.Admin(p.t.Context(), p.config(), storage.Caller{Version: "v-test"})
	if err != nil {
		p.t.Fatal(err)
	}
	r.admin = client
	r.stop = sync.OnceFunc(func() {
		release()
		cancel()
		if err := <-ended; err != nil {
			p.t.Errorf("Run = %v, want nil", err)
		}
		if err := d.Close(); err != nil {
			p.t.Errorf("Close = %v, want nil", err)
		}
		if strings.Contains(r.log.String(), "passed over messages") {
			p.t.Errorf("a request to the model passed over messages in silence:\n%s", r.log)
		}
	})
	p.t.Cleanup(r.stop)
	r.until("every channel to be connected", func() bool {
		st := r.status()
		for _, ch := range st.Channels {
			if ch.State != "connected" {
				return false
			}
		}
		return true
	})
	return r
}

// until polls: what is waited for happens behind a socket.
func (r *running) until(what string, done func() bool) {
	r.t.Helper()
	if !testkit.Poll(most, done) {
		r.t.Fatalf("waited for %s in vain. The log:\n%s", what, r.log)
	}
}

func (r *running) status() api.Status {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), most)
	defer cancel()
	s, err := api.ReadStatus.Call(ctx, r.admin, api.None{})
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// page is a client of the page in room.
func (r *running) page(room string) *live.Client {
	transport := &http.Transport{}
	r.t.Cleanup(transport.CloseIdleConnections)
	return &live.Client{
		HTTP: &http.Client{Transport: transport}, Room: room,
		URL: "http://" + r.status().Listen + "/api/chat", Header: http.Header{"X-Dragoman": {"1"}},
	}
}

// linked is the cookie of a session with all scopes, which a one-time link began.
func (r *running) linked() *http.Cookie {
	r.t.Helper()
	if r.session != nil {
		return r.session
	}
	link, err := api.MakeConsoleLink.Call(r.t.Context(), r.admin, api.None{})
	if err != nil {
		r.t.Fatal(err)
	}
	page, secret, found := strings.Cut(link.URL, "/login#link=")
	if !found {
		r.t.Fatalf("%s is no link to the login", link.URL)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, page+"/login/link", strings.NewReader(`{"secret":"`+secret+`"}`))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Origin", page)
	req.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if len(resp.Cookies()) != 1 {
		r.t.Fatalf("the login by a link = %s", resp.Status)
	}
	r.session = resp.Cookies()[0]
	return r.session
}

// ask writes into a room of the page and returns the answer.
func (r *running) ask(c *live.Client, text string) string {
	r.t.Helper()
	items := r.feed(c)
	if err := c.Post(r.t.Context(), fmt.Sprintf("message-%s-%d", c.Room, len(items)), text); err != nil {
		r.t.Fatalf("Post(%q) = %v", text, err)
	}
	var answer string
	r.until("an answer to "+text, func() bool {
		now := r.feed(c)
		if len(now) < len(items)+2 {
			return false
		}
		last := now[len(now)-1]
		answer = last.Text
		return last.From == live.FromDragoman && last.State == "sent"
	})
	return answer
}

func (r *running) feed(c *live.Client) []live.Item {
	r.t.Helper()
	items, err := c.Feed(r.t.Context(), 0, 200)
	if err != nil {
		r.t.Fatal(err)
	}
	return items
}

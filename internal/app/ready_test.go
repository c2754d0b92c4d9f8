package app_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/storage"
	"dragoman/internal/testkit"
)

// A store that is too new ends the start.
func TestUnreadableStoreIsNotReady(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "store: {type: file}")
	p.opens()
	if err := os.WriteFile(p.state("sessions/conversations/telegram%3A1.json"), []byte(`{"format": 99, "key": "telegram:1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Open(t.Context(), p.config(), app.Options{}); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("Open = %v, want that the store is too new", err)
	}
}

// manager is a service manager that hears what the daemon tells it.
func manager(t *testing.T) *testkit.Output {
	t.Helper()
	dir, err := os.MkdirTemp("", "ready") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", conn.LocalAddr().String())
	var heard testkit.Output
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for b := make([]byte, 256); ; {
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			_, _ = heard.Write(append(b[:n:n], '\n'))
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-ended
	})
	return &heard
}

// probe asks the page's port.
func probe(t *testing.T, addr, path string) (code int, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: most}
	resp, err := client.Get("http://" + addr + path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.Body.Close() != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// The daemon tells people and the service manager that it serves, and not before it
// runs.
func TestReady(t *testing.T) {
	heard := manager(t)
	p := newPlace(t, "store: {type: file}")
	var said testkit.Output
	d, err := app.Open(t.Context(), p.config(), app.Options{Caller: storage.Caller{Version: "v-test"}, Out: &said})
	if err != nil {
		t.Fatal(err)
	}
	if said.String() != "" || strings.Contains(heard.String(), "READY=1") {
		t.Errorf("before it runs the daemon said %q, and to the service manager %q", said.String(), heard.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	testkit.Eventually(t, "the daemon to be ready", func() bool {
		code, _ := probe(t, d.PublicAddr(), "/readyz")
		return code == http.StatusOK && strings.Contains(said.String(), "Dragoman v-test") && strings.Contains(heard.String(), "READY=1")
	})
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run = %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	testkit.Eventually(t, "the end to be told", func() bool { return strings.HasSuffix(heard.String(), "STOPPING=1\n") })
}

// TestFirstStartOpensThePage: whoever starts Dragoman for the first time in a terminal gets
// a link to the page, and none once something was said. No log and no file gets one.
func TestFirstStartOpensThePage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	link := regexp.MustCompile(`http://127\.0\.0\.1:\d+/login#\S+`)
	report := func(terminal bool) (*running, string) {
		var said testkit.Output
		r := p.run(func(o *app.Options) { o.Out, o.Terminal = &said, terminal })
		testkit.Eventually(t, "the report", func() bool { return strings.Contains(said.String(), "Dragoman v-test") })
		if found := link.FindString(r.log.String()); found != "" {
			t.Errorf("the log has %s", found)
		}
		return r, link.FindString(said.String())
	}
	r, got := report(false)
	r.stop()
	if got != "" {
		t.Errorf("a report into a file has %s", got)
	}
	r, got = report(true)
	_, secret, _ := strings.Cut(got, "#link=")
	if secret == "" {
		t.Fatalf("the first report has the link %q", got)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+r.daemon.PublicAddr()+"/login/link", strings.NewReader(`{"secret": "`+secret+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "http://"+r.daemon.PublicAddr())
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.Body.Close() != nil || resp.StatusCode >= 300 || len(resp.Cookies()) == 0 {
		t.Errorf("the link opens nothing: %+v, %v", resp, err)
	}
	r.ask(r.page("default"), "hello")
	r.stop()
	r, got = report(true)
	r.stop()
	if got != "" {
		t.Errorf("a later report has %s", got)
	}
}

// TestChannelsAreListed with their types, by the API.
func TestChannelsAreListed(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "").run()
	got, err := api.ListChannels.Call(t.Context(), r.admin, api.None{})
	if err != nil || len(got.Data) == 0 {
		t.Fatalf("ListChannels = %+v, %v", got, err)
	}
	for _, c := range got.Data {
		if c.Type == "" || c.State == "" || c.Linked && !c.Linkable {
			t.Errorf("a channel is listed as %+v", c)
		}
	}
}

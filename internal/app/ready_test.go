package app_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

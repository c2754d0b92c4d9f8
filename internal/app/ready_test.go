package app_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dragoman/internal/app"
	"dragoman/internal/storage"
	"dragoman/internal/testkit"
)

// A store that cannot be read ends the daemon, and nobody is told before that
// it serves.
func TestUnreadableStoreIsNotReady(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "store: {type: file}")
	p.opens()
	if err := os.WriteFile(p.state("sessions/conversations/telegram%3A1.json"), []byte(`{"format": 99, "key": "telegram:1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var said testkit.Output
	d, err := app.Open(t.Context(), p.config(), app.Options{Caller: storage.Caller{Version: "v-test"}, Out: &said})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("Run = %v, want that the store is too new", err)
	}
	if strings.Contains(said.String(), "Dragoman v-test") {
		t.Errorf("before that it said:\n%s", said.String())
	}
	if err := d.Close(); err != nil {
		t.Errorf("Close = %v", err)
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

// While the store is read the daemon says neither to people nor to the service
// manager that it serves. A pipe stands for a file on a disk that is slow.
func TestReadyWhenTheStoreIsRead(t *testing.T) {
	heard := manager(t)
	p := newPlace(t, "store: {type: file}")
	p.opens()
	slow := p.state("sessions/index.json")
	if err := errors.Join(os.Remove(slow), syscall.Mkfifo(slow, 0o600)); err != nil {
		t.Fatal(err)
	}
	var said testkit.Output
	d, err := app.Open(t.Context(), p.config(), app.Options{Caller: storage.Caller{Version: "v-test"}, Out: &said})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()

	if code, body := probe(t, d.PublicAddr(), "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "still being read") {
		t.Errorf("/readyz = %d %s, want that the store is still being read", code, body)
	}
	if code, body := probe(t, d.PublicAddr(), "/healthz"); code != http.StatusOK || !strings.Contains(body, "starting") {
		t.Errorf("/healthz = %d %s, want a daemon that starts", code, body)
	}
	if said.String() != "" || strings.Contains(heard.String(), "READY=1") {
		t.Errorf("before its store is read the daemon said %q, and to the service manager %q", said.String(), heard.String())
	}

	pipe, err := os.OpenFile(slow, os.O_WRONLY, 0) // waits for its reader
	if err != nil {
		t.Fatal(err)
	}
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
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

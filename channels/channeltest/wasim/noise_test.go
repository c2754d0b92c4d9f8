package wasim_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"dragoman/channels/channeltest/wasim"

	"go.mau.fi/whatsmeow/types/events"
)

func FuzzFrames(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("hello"))
	f.Add(bytes.Repeat([]byte{7}, 70_000))
	f.Fuzz(func(t *testing.T, data []byte) {
		var wire bytes.Buffer
		if err := wasim.WriteFrame(&wire, data); err != nil {
			t.Fatal(err)
		}
		got, err := wasim.ReadFrame(io.MultiReader(bytes.NewReader(wire.Bytes()[:1]), bytes.NewReader(wire.Bytes()[1:])))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("ReadFrame = %d bytes, %v, want %d", len(got), err, len(data))
		}
	})
}

// Whatever a stranger says instead of a handshake is refused.
func FuzzGreet(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1"))
	f.Add([]byte("WA\x06\x03\x00\x00\x00"))
	f.Add(append([]byte("WA\x06\x03\x00\x00\x24\x12\x22\x0a\x20"), bytes.Repeat([]byte{9}, 32)...))
	f.Add(append(append([]byte("WA\x06\x03\x00\x00\x24\x12\x22\x0a\x20"), bytes.Repeat([]byte{9}, 32)...), 0, 0, 4, 0x22, 2, 0x0a, 0))
	f.Fuzz(func(t *testing.T, said []byte) {
		if err := wasim.Greet(stranger{bytes.NewReader(said), io.Discard}); err == nil {
			t.Errorf("%x is taken for a handshake", said)
		}
	})
}

type stranger struct {
	io.Reader
	io.Writer
}

// Whatever host is asked for, this server answers, and strangers do not hurt it.
func TestOnlyLoopback(t *testing.T) {
	s := start(t, wasim.Options{})
	for _, url := range []string{"http://example.invalid/", "https://example.invalid/ws/chat", "https://example.invalid/v/none"} {
		req, err := http.NewRequestWithContext(within(t), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.HTTPClient().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode < 400 {
			t.Errorf("%s: %s", url, r.Status)
		}
	}
	login(t, s)
}

// A client in another process is given the root's key and the address.
func TestRedirect(t *testing.T) {
	s := start(t, wasim.Options{})
	d, err := s.PairedDevice(t.Context(), newStore(t))
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, s, d)
	wasim.TrustRoot(wasim.RootKey())
	wasim.Redirect(c.Client, s.Addr())
	if err := c.Connect(); err != nil {
		t.Fatal(err)
	}
	await[*events.Connected](t, c)
}

// Closing a server ends its connections and whoever waits for it.
func TestClose(t *testing.T) {
	s, err := wasim.Open(wasim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := paired(t, s)
	c.EnableAutoReconnect = false
	if err := c.Connect(); err != nil {
		t.Fatal(err)
	}
	await[*events.Connected](t, c)
	s.Close()
	await[*events.Disconnected](t, c)
	if n := s.Online(); n != 0 {
		t.Errorf("%d devices are online after the end", n)
	}
	s.Contact("+4915700000001", "Alice").Say("into the void")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.WaitDrained(ctx); err == nil {
		t.Error("what a server that is closed sent was acknowledged")
	}
}

package whatsapp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
)

// wire is an HTTP client whose connections can be cut from here.
//
// That is how a connection is ended, because the library's own Disconnect
// stops reading frames before it closes the socket: one that comes in between
// leaves a goroutine waiting for ever, and its fields are not guarded against a
// network that goes away at the same moment. With the network gone first,
// everything that reads from it comes to its end by itself.
type wire struct {
	*http.Client
	mu    sync.Mutex
	conns map[net.Conn]bool
	down  bool
}

func (c *Channel) newWire() *wire {
	w := &wire{conns: map[net.Conn]bool{}}
	base := http.DefaultTransport
	if c.o.HTTP != nil && c.o.HTTP.Transport != nil {
		base = c.o.HTTP.Transport
	}
	t, ok := base.(*http.Transport)
	if !ok {
		w.Client = c.o.HTTP // somebody's own kind of transport, which is not cut
		return w
	}
	t = t.Clone()
	if c.o.HTTP == nil {
		t.Proxy = c.o.Proxy
	}
	t.DialContext = w.track(t.DialContext)
	if t.DialTLSContext != nil {
		t.DialTLSContext = w.track(t.DialTLSContext)
	}
	w.Client = &http.Client{Transport: t}
	return w
}

type dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// track remembers the connections that d makes.
func (w *wire) track(d dial) dial {
	if d == nil {
		d = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.down {
			_ = conn.Close()
			return nil, net.ErrClosed
		}
		w.conns[conn] = true
		return &tracked{conn, w}, nil
	}
}

type tracked struct {
	net.Conn
	w *wire
}

// Close forgets the connection.
func (t *tracked) Close() error {
	t.w.mu.Lock()
	delete(t.w.conns, t.Conn)
	t.w.mu.Unlock()
	return t.Conn.Close()
}

// cut ends all connections and refuses new ones.
func (w *wire) cut() {
	w.mu.Lock()
	w.down = true
	for conn := range w.conns {
		_ = conn.Close()
	}
	clear(w.conns)
	w.mu.Unlock()
	w.CloseIdleConnections()
}

// cutLimit bounds the wait for the library to notice.
const cutLimit = time.Second

// hangUp ends the connection of client.
func (w *wire) hangUp(client *whatsmeow.Client) {
	w.cut()
	tick, late := time.NewTicker(time.Millisecond), time.NewTimer(cutLimit)
	defer tick.Stop()
	defer late.Stop()
	for !letGo(client) {
		select {
		case <-tick.C:
			continue
		case <-late.C:
		}
		break
	}
	client.Disconnect()
}

// letGo reports whether client has let go of its socket. While it still does so,
// Disconnect would write what it reads. The library tells it in no other way
// than by its answer to a frame, which has nowhere to go any more.
func letGo(client *whatsmeow.Client) bool {
	err := client.SendChatPresence(context.Background(), types.ServerJID, types.ChatPresencePaused, "")
	return errors.Is(err, whatsmeow.ErrNotConnected)
}

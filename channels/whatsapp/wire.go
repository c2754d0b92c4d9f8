package whatsapp

import (
	"context"
	"errors"
	"net"
	"net/http"
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
	life context.Context //nolint:containedctx // its connections end with it
	end  context.CancelFunc
}

func (c *Channel) newWire() *wire {
	w := &wire{}
	w.life, w.end = context.WithCancel(context.Background())
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
		return &tracked{conn, context.AfterFunc(w.life, func() { _ = conn.Close() })}, nil
	}
}

type tracked struct {
	net.Conn
	forget func() bool
}

// Close forgets the connection.
func (t *tracked) Close() error {
	t.forget()
	return t.Conn.Close()
}

// cut ends all connections, and new ones at once.
func (w *wire) cut() {
	w.end()
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

//go:build !nowhatsapp

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

// wire is an HTTP client whose connections we can close.
//
// We end a connection that way because the library's Disconnect stops reading frames
// before it closes the socket. A frame that arrives in between leaves a goroutine
// waiting forever, and Disconnect races with a network that fails at the same moment.
// If the network is closed first, every goroutine that reads from it ends.
type wire struct {
	*http.Client
	life context.Context //nolint:containedctx // its end closes the connections
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
		w.Client = c.o.HTTP // We cannot close the connections of another kind of transport.
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

// dial is the type of http.Transport's dial functions.
type dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// track makes the connections of d close when w.life ends.
func (w *wire) track(d dial) dial {
	if d == nil {
		d = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &trackedConn{conn, context.AfterFunc(w.life, func() { _ = conn.Close() })}, nil
	}
}

// trackedConn is a connection that [wire] closes with all others.
type trackedConn struct {
	net.Conn
	forget func() bool
}

// Close closes the connection and stops tracking it.
func (t *trackedConn) Close() error {
	t.forget()
	return t.Conn.Close()
}

// cut closes all connections. New ones are closed at once.
func (w *wire) cut() {
	w.end()
	w.CloseIdleConnections()
}

// hangUpTimeout bounds the wait until the library notices.
const hangUpTimeout = time.Second

// hangUp ends the connection of client. It closes the network first and waits
// until the library noticed: see [wire].
func (w *wire) hangUp(client *whatsmeow.Client) {
	w.cut()
	for late := time.Now().Add(hangUpTimeout); !isDisconnected(client) && time.Now().Before(late); {
		time.Sleep(time.Millisecond)
	}
	client.Disconnect()
}

// isDisconnected reports whether client has released its socket. Before that, a call of
// Disconnect would be a data race. The only way to find out is to send a frame, which
// the closed network drops.
func isDisconnected(client *whatsmeow.Client) bool {
	err := client.SendChatPresence(context.Background(), types.ServerJID, types.ChatPresencePaused, "")
	return errors.Is(err, whatsmeow.ErrNotConnected)
}

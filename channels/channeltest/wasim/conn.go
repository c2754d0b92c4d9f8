package wasim

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

const (
	// writeTime is how long one frame may take to leave.
	writeTime = 10 * time.Second
	// partTime is how long a client may take to understand that it has to go.
	partTime = 3 * time.Second
)

// conn is one client's connection after the handshake.
type conn struct {
	*greeted
	device  *device      // once logged in; the server's lock guards it
	wedding *wedding     // a pairing that waits for its answer; likewise
	code    *codePairing // a pairing by code; likewise

	stop    context.CancelFunc
	mu      sync.Mutex
	out     [][]byte      // what waits to be written; without limit, so that nobody waits for a slow client
	parting string        // the id of the last stanza, after whose acknowledgement the connection is cut
	pending chan struct{} // room for one: there is something in out
}

// send queues a stanza. It never blocks.
func (c *conn) send(nodes ...waBinary.Node) { c.sendFrames("", marshalled(nodes...)...) }

// sendFrames queues frames as they are; after the last one the connection
// waits for the acknowledgement of farewell, if there is one.
func (c *conn) sendFrames(farewell string, frames ...[]byte) {
	c.mu.Lock()
	c.out = append(c.out, frames...)
	if farewell != "" {
		c.parting = farewell
	}
	c.mu.Unlock()
	c.wake()
}

// marshalled is what stanzas are on the wire. One that cannot be written is a
// bug of a test.
func marshalled(nodes ...waBinary.Node) (frames [][]byte) {
	for _, node := range nodes {
		plain, err := waBinary.Marshal(node)
		if err != nil {
			panic("wasim: marshal a stanza: " + err.Error())
		}
		frames = append(frames, plain)
	}
	return frames
}

// end sends a last stanza and cuts the connection once the client has read it.
// A client that sees the end of the stream throws away what it has not handled
// yet, so the cut has to wait: for the acknowledgement of a notification that
// says nothing, which clients handle in order.
func (c *conn) end(node waBinary.Node) {
	farewell := newID()
	c.sendFrames(farewell, marshalled(node, waBinary.Node{
		Tag: "notification", Attrs: waBinary.Attrs{"from": types.ServerJID, "type": "farewell", "id": farewell},
	})...)
}

// parts reports whether a client has acknowledged the farewell.
func (c *conn) parts(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parting != "" && c.parting == id
}

func (c *conn) wake() {
	select {
	case c.pending <- struct{}{}:
	default: // it is going to look anyhow
	}
}

// cut ends the connection at once.
func (c *conn) cut() { c.stop() }

// serveSocket takes one connection from its handshake to its end.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	if s.refusesDial() {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	socket, err := websocket.Accept(w, r, nil)
	if err != nil {
		s.options.Logf("wasim: accept: %v", err)
		return
	}
	defer func() { _ = socket.CloseNow() }()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c := &conn{stop: stop, pending: make(chan struct{}, 1)}
	// Registered before the handshake, so that Close reaches it there too.
	if !s.register(c) {
		return
	}
	defer s.drop(c)
	if !s.mayGreet(ctx) {
		return
	}
	stream := websocket.NetConn(ctx, socket, websocket.MessageBinary)
	if c.greeted, err = s.root.greet(stream); err != nil {
		s.options.Logf("%v", err)
		return
	}
	var writer sync.WaitGroup
	defer writer.Wait()
	defer stop()
	writer.Go(func() {
		defer stop()
		c.write(ctx, stream)
	})
	s.greetLocked(c)
	s.read(c, stream)
}

func (s *Server) refusesDial() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.notify()
	s.counts["dial"]++
	return s.Faults.refusesDial()
}

func (s *Server) register(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[c] = true
	return true
}

// drop forgets a connection that is over.
func (s *Server) drop(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	for ref, waiting := range s.pairing {
		if waiting == c {
			delete(s.pairing, ref)
		}
	}
	if c.device != nil && c.device.conn == c {
		c.device.conn = nil
	}
	s.notify()
}

// write sends what is queued until ctx ends or the client does not go.
func (c *conn) write(ctx context.Context, stream net.Conn) {
	for counter := uint32(0); ; {
		c.mu.Lock()
		frames, parting := c.out, c.parting != ""
		c.out = nil
		c.mu.Unlock()
		for _, plain := range frames {
			_ = stream.SetWriteDeadline(time.Now().Add(writeTime))
			if err := writeFrame(stream, c.greeted.write.Seal(nil, nonce(counter), plain, nil)); err != nil {
				return
			}
			counter++
		}
		if len(frames) > 0 {
			continue
		}
		var late <-chan time.Time
		if parting {
			late = time.After(partTime)
		}
		select {
		case <-c.pending:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}

// read handles stanzas until the connection ends.
func (s *Server) read(c *conn, stream net.Conn) {
	for counter := uint32(0); ; counter++ {
		frame, err := readFrame(stream)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) && websocket.CloseStatus(err) == -1 {
				s.options.Logf("wasim: read: %v", err)
			}
			return
		}
		plain, err := c.greeted.read.Open(nil, nonce(counter), frame, nil)
		if err != nil {
			s.options.Logf("wasim: read: frame %d: %v", counter, err)
			return
		}
		if plain, err = waBinary.Unpack(plain); err != nil {
			s.options.Logf("wasim: read: unpack: %v", err)
			return
		}
		node, err := waBinary.Unmarshal(plain)
		if err != nil {
			s.options.Logf("wasim: read: %v", err)
			return
		}
		s.handle(c, node)
	}
}

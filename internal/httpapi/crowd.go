package httpapi

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// crowd bounds how many connections a server has open. A new one always gets
// in, so that a probe is answered whatever others hold: the one that is missed
// least is closed for it.
type crowd struct {
	most int

	mu     sync.Mutex
	guests map[net.Conn]*guest
	from   map[string]int // guests of each address
}

type guest struct {
	addr string
	came time.Time
	free time.Time // since when it asks for nothing; zero: it is being answered
}

// settle is how long a connection may take until its request is read.
const settle = time.Second

func newCrowd(most int) *crowd {
	return &crowd{most: most, guests: map[net.Conn]*guest{}, from: map[string]int{}}
}

// follow is for http.Server.ConnState, which calls it for each new connection
// before the next one is accepted.
func (c *crowd) follow(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		if len(c.guests) >= c.most {
			c.sendAway()
		}
		addr, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		c.guests[conn] = &guest{addr: addr, came: time.Now(), free: time.Now()}
		c.from[addr]++
	case http.StateActive:
		if g := c.guests[conn]; g != nil {
			g.free = time.Time{}
		}
	case http.StateIdle:
		if g := c.guests[conn]; g != nil {
			g.free = time.Now()
		}
	case http.StateClosed, http.StateHijacked:
		c.forget(conn)
	}
}

// sendAway closes one connection: one that has asked for nothing for a second,
// else one of the address with the most of them; the oldest of those. Pages,
// and programs that read events, connect again by themselves. The lock is held.
func (c *crowd) sendAway() {
	var worst net.Conn
	var w *guest
	for conn, g := range c.guests {
		if w == nil || c.rather(g, w) {
			worst, w = conn, g
		}
	}
	if worst != nil {
		_ = worst.Close()
		c.forget(worst)
	}
}

// rather reports whether a goes rather than b.
func (c *crowd) rather(a, b *guest) bool {
	switch {
	case a.idle() != b.idle():
		return a.idle()
	case c.from[a.addr] != c.from[b.addr]:
		return c.from[a.addr] > c.from[b.addr]
	}
	return a.came.Before(b.came)
}

func (g *guest) idle() bool { return !g.free.IsZero() && time.Since(g.free) >= settle }

func (c *crowd) forget(conn net.Conn) {
	g := c.guests[conn]
	if g == nil {
		return
	}
	delete(c.guests, conn)
	if c.from[g.addr]--; c.from[g.addr] == 0 {
		delete(c.from, g.addr)
	}
}

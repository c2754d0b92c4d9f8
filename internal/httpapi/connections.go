package httpapi

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// connections bounds how many connections a server has open. A new one is
// always accepted, so that a probe is answered whatever others hold open: the
// least useful connection is closed for it.
type connections struct {
	most int

	mu      sync.Mutex
	open    map[net.Conn]*connection
	perAddr map[string]int // open connections of each address
}

type connection struct {
	addr      string
	since     time.Time
	idleSince time.Time // zero while a request is answered
}

// idleAfter is how long a connection may take to send its request until it counts as idle.
const idleAfter = time.Second

func newConnections(most int) *connections {
	return &connections{most: most, open: map[net.Conn]*connection{}, perAddr: map[string]int{}}
}

// follow is for http.Server.ConnState, which calls it for each new connection
// before it accepts the next one.
func (c *connections) follow(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		if len(c.open) >= c.most {
			c.closeOne()
		}
		addr, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		c.open[conn] = &connection{addr: addr, since: time.Now(), idleSince: time.Now()}
		c.perAddr[addr]++
	case http.StateActive:
		if o := c.open[conn]; o != nil {
			o.idleSince = time.Time{}
		}
	case http.StateIdle:
		if o := c.open[conn]; o != nil {
			o.idleSince = time.Now()
		}
	case http.StateClosed, http.StateHijacked:
		c.forget(conn)
	}
}

// closeOne closes the oldest connection that has been idle for idleAfter, else the
// oldest of the address with the most connections. Pages, and programs that
// read events, connect again by themselves. The caller holds c.mu.
func (c *connections) closeOne() {
	var victim net.Conn
	for conn, o := range c.open {
		if victim == nil || c.closesBefore(o, c.open[victim]) {
			victim = conn
		}
	}
	if victim != nil {
		_ = victim.Close()
		c.forget(victim)
	}
}

// closesBefore reports whether a is to be closed rather than b.
func (c *connections) closesBefore(a, b *connection) bool {
	switch {
	case a.idle() != b.idle():
		return a.idle()
	case c.perAddr[a.addr] != c.perAddr[b.addr]:
		return c.perAddr[a.addr] > c.perAddr[b.addr]
	}
	return a.since.Before(b.since)
}

func (o *connection) idle() bool {
	return !o.idleSince.IsZero() && time.Since(o.idleSince) >= idleAfter
}

func (c *connections) forget(conn net.Conn) {
	o := c.open[conn]
	if o == nil {
		return
	}
	delete(c.open, conn)
	if c.perAddr[o.addr]--; c.perAddr[o.addr] == 0 {
		delete(c.perAddr, o.addr)
	}
}

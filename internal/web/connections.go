package web

import (
	"cmp"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// connections bounds how many connections a server has open. A new one is
// always accepted, so that a probe is answered whatever others hold open: the
// least useful connection is closed for it.
type connections struct {
	most int

	mu   sync.Mutex
	open map[net.Conn]*connection
}

// connection is what is known of an open connection, to choose the one that is
// closed for a new one.
type connection struct {
	addr      string
	since     time.Time
	idleSince time.Time // zero while a request is answered
}

// idleAfter is how long a connection may take to send its request until it counts as idle.
const idleAfter = time.Second

// follow is for http.Server.ConnState, which calls it for each new connection
// before it accepts the next one.
func (c *connections) follow(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.open[conn]
	switch {
	case state == http.StateNew:
		if len(c.open) >= c.most {
			c.closeOne()
		}
		addr, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		c.open[conn] = &connection{addr: addr, since: time.Now(), idleSince: time.Now()}
	case o == nil: // it was closed for another
	case state == http.StateActive:
		o.idleSince = time.Time{}
	case state == http.StateIdle:
		o.idleSince = time.Now()
	case state == http.StateClosed, state == http.StateHijacked:
		delete(c.open, conn)
	}
}

// closeOne closes a connection that has been idle for idleAfter, else any: the oldest
// of the address with the most connections. Pages, and programs that read events,
// connect again by themselves. The caller holds c.mu.
func (c *connections) closeOne() {
	now, perAddr := time.Now(), map[string]int{}
	for _, o := range c.open {
		perAddr[o.addr]++
	}
	rank := func(o *connection) int {
		if !o.idleSince.IsZero() && now.Sub(o.idleSince) >= idleAfter {
			return perAddr[o.addr] + len(c.open)
		}
		return perAddr[o.addr]
	}
	victim := slices.MinFunc(slices.Collect(maps.Keys(c.open)), func(a, b net.Conn) int {
		return cmp.Or(rank(c.open[b])-rank(c.open[a]), c.open[a].since.Compare(c.open[b].since))
	})
	_ = victim.Close()
	delete(c.open, victim)
}

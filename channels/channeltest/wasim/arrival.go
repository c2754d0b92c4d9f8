package wasim

import (
	"context"
	"fmt"
	"net/http"

	waBinary "go.mau.fi/whatsmeow/binary"
)

// arrival is what clients meet before they are let in. The server's lock
// guards it.
type arrival struct {
	held    bool
	demands [3]uint32
	claimed [][3]uint32
}

// Demand turns away clients that claim an older version, as outdated, and
// makes the front page of WhatsApp Web name v as the current one. The last
// number is the one that counts; zero ends it.
func (f *Faults) Demand(v [3]uint32) { f.set(func() { f.s.arrival.demands = v }) }

// HoldGreetings lets clients dial and does not speak to them until it is
// turned off.
func (f *Faults) HoldGreetings(on bool) { f.set(func() { f.s.arrival.held = on }) }

// Claimed are the versions that clients said they were, one a connection.
func (s *Server) Claimed() [][3]uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][3]uint32(nil), s.arrival.claimed...)
}

// mayGreet waits while greetings are held; false: the connection is over.
func (s *Server) mayGreet(ctx context.Context) bool {
	return s.Wait(ctx, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !s.arrival.held
	}) == nil
}

// outdated notes the version that a client claims, and what is to be said
// against it. The lock is held.
func (s *Server) outdated(c *conn) (waBinary.Node, bool) {
	v := c.payload.GetUserAgent().GetAppVersion()
	s.arrival.claimed = append(s.arrival.claimed, [3]uint32{v.GetPrimary(), v.GetSecondary(), v.GetTertiary()})
	if v.GetTertiary() < s.arrival.demands[2] {
		return loginFailure(405), true
	}
	return waBinary.Node{}, false
}

// serveFront is the page on which the current version stands.
func (s *Server) serveFront(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	v := s.arrival.demands
	s.counts["front"]++
	s.notify()
	s.mu.Unlock()
	if v[2] == 0 {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	_, _ = fmt.Fprintf(w, `<script>{"server_revision":%d,"client_revision":%d,"tier":"sim"}</script>`, v[2], v[2])
}

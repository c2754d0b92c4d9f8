package postgres

import (
	"context"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// sockets are the open connections to the servers. Of one whose server fell silent
// no answer comes, and those that wait for it would wait for the network to give up.
type sockets struct {
	dial pgconn.DialFunc

	mu   sync.Mutex
	open map[*socket]bool // nil: cut
}

// socket is one of them.
type socket struct {
	net.Conn
	of *sockets
}

// Close ends the connection.
func (s *socket) Close() error {
	s.of.mu.Lock()
	delete(s.of.open, s)
	s.of.mu.Unlock()
	return s.Conn.Close()
}

// connect is a pgconn.DialFunc.
func (s *sockets) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := s.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		conn.Close()
		return nil, net.ErrClosed
	}
	c := &socket{conn, s}
	s.open[c] = true
	return c, nil
}

// cut ends all of them, and no new one begins.
func (s *sockets) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		c.Conn.Close()
	}
	s.open = nil
}

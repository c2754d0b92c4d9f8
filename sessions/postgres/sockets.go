package postgres

import (
	"context"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// socket is a connection to a server that closes when this node is lost. Otherwise
// calls to a silent server would wait until the network gives up.
type socket struct {
	net.Conn
	stop func() bool
}

// Close closes the connection.
func (s socket) Close() error {
	s.stop()
	return s.Conn.Close()
}

// dialUntil wraps dial: its connections close when life ends.
func dialUntil(life context.Context, dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return socket{conn, context.AfterFunc(life, func() { conn.Close() })}, nil
	}
}

package postgres

import (
	"context"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// socket is a connection to a server, which ends when this node is lost: of a server
// that fell silent no answer comes, and those that wait for it would wait for the
// network to give up.
type socket struct {
	net.Conn
	forget func() bool
}

// Close ends the connection.
func (s socket) Close() error {
	s.forget()
	return s.Conn.Close()
}

// ending is dial, for connections that end with life.
func ending(life context.Context, dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return socket{conn, context.AfterFunc(life, func() { conn.Close() })}, nil
	}
}

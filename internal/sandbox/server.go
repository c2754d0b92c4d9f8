package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
)

// Server is a program that speaks over its standard input and output.
type Server struct {
	// Command is its absolute path and its arguments.
	Command []string
	// Env are its variables beside PATH, HOME and LANG, like NAME=value.
	Env []string
	// Secrets are further variables, and which credential of the unit each holds: the
	// daemon never has their values.
	Secrets map[string]string
}

// ErrNoUnit: no unit for servers listens there. The caller may start a server as a child of
// its own, which then has the daemon's user.
var ErrNoUnit = errors.New("sandbox: no unit for servers listens there")

// StartServer lets the unit at a socket (systemd/dragoman-mcp@.service) start a server: with
// a user of its own, in its own folder, with the network, apart from the daemon's files. The
// result is its standard input and output: Close ends it, and CloseWrite first closes its
// standard input. What it says on standard error is in the unit's log. Without such a socket
// the error is [ErrNoUnit].
//
//	conn, err := sandbox.StartServer(ctx, "/run/dragoman-mcp.sock", sandbox.Server{Command: command})
//	if errors.Is(err, sandbox.ErrNoUnit) { … a child … }
func StartServer(ctx context.Context, socket string, s Server) (*net.UnixConn, error) {
	info, err := os.Lstat(socket)
	if err != nil || info.Mode()&fs.ModeSocket == 0 {
		return nil, ErrNoUnit
	}
	data, err := json.Marshal(request{Command: s.Command, Env: s.Env, Secrets: s.Secrets})
	if err != nil || len(data) > mostFrame {
		return nil, errors.New("sandbox: the server's command and variables are too long")
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("sandbox: reach the unit for servers: %w", err)
	}
	conn, _ := c.(*net.UnixConn)
	err = writeFrame(io.Writer(conn), frameRequest, data)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("sandbox: ask the unit for a server: %w", err)
	}
	return conn, nil
}

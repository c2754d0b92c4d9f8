package sandbox

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// Server is a program that speaks over its standard input and output.
type Server struct {
	// Name is that of its folder, which no other server can enter: a-z, 0-9 and "-".
	Name string
	// Command is its absolute path and its arguments.
	Command []string
	// Env are its variables beside PATH, HOME and LANG, like NAME=value.
	Env []string
}

// ErrNoUnit: no unit for servers listens there. The caller may start a server as a child of
// its own, which then has the daemon's user.
var ErrNoUnit = errors.New("sandbox: no unit for servers listens there")

// HasServers reports whether there is a socket of a unit for servers.
func HasServers(socket string) bool {
	info, err := os.Lstat(socket)
	return err == nil && info.Mode()&fs.ModeSocket != 0
}

// Serving is a server that runs in a unit.
type Serving struct {
	// Conn is its standard input and output: Close ends it, and CloseWrite first closes its
	// standard input.
	Conn *net.UnixConn
	// Said is its standard error, and why it could not start. It ends when the server has
	// ended. The unit's log has it, too.
	Said *os.File
}

// Close ends the server, and listens to it no more.
func (s *Serving) Close() error { return errors.Join(s.Conn.Close(), s.Said.Close()) }

// StartServer lets the unit at a socket (systemd/dragoman-mcp@.service) start a server: with
// a user of its own, in its own folder, with the network, apart from the daemon's files and
// from other servers. Without such a socket the error is [ErrNoUnit].
func StartServer(ctx context.Context, socket string, s Server) (*Serving, error) {
	if !HasServers(socket) {
		return nil, ErrNoUnit
	}
	data, err := json.Marshal(request{Name: s.Name, Command: s.Command, Env: s.Env})
	if err != nil || len(data) > mostFrame {
		return nil, errors.New("sandbox: the server's command and variables are too long")
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("sandbox: reach the unit for servers: %w", err)
	}
	conn, _ := c.(*net.UnixConn)
	err = listenedByRoot(conn) // what follows has keys
	if err != nil {
		conn.Close()
		return nil, err
	}
	said, says, err := os.Pipe()
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("sandbox: make a pipe: %w", err)
	}
	err = sendRequest(conn, data, says)
	says.Close() // the server has it, or nobody
	serving := &Serving{conn, said}
	if err != nil {
		_ = serving.Close()
		return nil, fmt.Errorf("sandbox: ask the unit for a server: %w", err)
	}
	return serving, nil
}

// sendRequest asks a helper for something, and gives it a file to write to.
func sendRequest(conn *net.UnixConn, data []byte, file *os.File) error {
	head := binary.BigEndian.AppendUint32([]byte{frameRequest}, uint32(len(data)))
	_, _, err := conn.WriteMsgUnix(head, syscall.UnixRights(int(file.Fd())), nil)
	if err == nil {
		_, err = conn.Write(data)
	}
	return err
}

package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// ListenSocket makes the operator's socket, which only the daemon's user can open. It
// replaces a socket that a dead daemon left: the caller has the lock on the
// state directory, so no other daemon listens there. It refuses to replace
// anything else of that name.
func ListenSocket(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("web: listen on %s: something that is not a socket has this name", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("web: remove the old socket: %w", err)
	}
	short, release, err := shortPath(path)
	if err != nil {
		return nil, err
	}
	defer release()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("web: listen on %s: %w", path, err)
	}
	ln.SetUnlinkOnClose(false) // short is only valid until release
	if err := os.Chmod(path, 0o600); err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("web: protect %s: %w", path, err)
	}
	return &socket{UnixListener: ln, path: path}, nil
}

// socket removes its file when it is closed.
type socket struct {
	*net.UnixListener
	path string
}

func (s *socket) Close() error {
	err := s.UnixListener.Close()
	if rm := os.Remove(s.path); rm != nil && !errors.Is(rm, os.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return err
}

// longestSocketPath is the longest path, in bytes, that fits into a socket
// address on every system.
const longestSocketPath = 100

// shortPath returns a name of path that fits into a socket address, if
// necessary through a descriptor of its folder. It is valid until release.
func shortPath(path string) (short string, release func(), err error) {
	if len(path) <= longestSocketPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, fmt.Errorf("web: open the socket's folder: %w", err)
	}
	short = filepath.Join("/proc/self/fd", strconv.FormatUint(uint64(dir.Fd()), 10), filepath.Base(path))
	return short, func() { _ = dir.Close() }, nil
}

// SocketTransport sends every request to the socket at path, whatever host its
// URL names.
func SocketTransport(path string) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			short, release, err := shortPath(path)
			if err != nil {
				return nil, err
			}
			defer release()
			var d net.Dialer
			return d.DialContext(ctx, "unix", short)
		},
		DisableCompression: true, IdleConnTimeout: time.Minute,
	}
}

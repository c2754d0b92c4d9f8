package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Limits of the server. Writing has none, because answers stream.
const (
	headerWithin = 10 * time.Second
	bodyWithin   = 2 * time.Minute
	idleFor      = 2 * time.Minute
	maxHeader    = 64 << 10
)

// ServeOptions tune Serve. Only Logger is required.
type ServeOptions struct {
	// Grace is how long requests may continue when the context has ended.
	Grace time.Duration
	// Connections is how many may be open; 0: no limit. For one more, another
	// one is closed: see [connections].
	Connections int
	Logger      *slog.Logger
}

// Serve answers on ln until ctx ends. Then it accepts no more, gives running
// requests o.Grace to finish, and closes the rest. It closes ln.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, o ServeOptions) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: headerWithin, ReadTimeout: bodyWithin, IdleTimeout: idleFor, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	if o.Connections > 0 {
		srv.ConnState = (&connections{most: o.Connections, open: map[net.Conn]*connection{}}).follow
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("api: serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Grace)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil {
		_ = srv.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("api: serve %s: %w", ln.Addr(), err)
	}
	return nil
}

// Listen makes the admin socket, which only the daemon's user can open. It
// replaces a socket that a dead daemon left: the caller has the lock on the
// state directory, so no other daemon listens there. It refuses to replace
// anything else of that name.
func Listen(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("api: listen on %s: something that is not a socket has this name", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("api: remove the old socket: %w", err)
	}
	short, release, err := shortPath(path)
	if err != nil {
		return nil, err
	}
	defer release()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("api: listen on %s: %w", path, err)
	}
	ln.SetUnlinkOnClose(false) // short is only valid until release
	if err := os.Chmod(path, 0o600); err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("api: protect %s: %w", path, err)
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
		return "", nil, fmt.Errorf("api: open the socket's folder: %w", err)
	}
	short = filepath.Join("/proc/self/fd", strconv.FormatUint(uint64(dir.Fd()), 10), filepath.Base(path))
	return short, func() { _ = dir.Close() }, nil
}

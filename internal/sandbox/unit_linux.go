//go:build amd64 || arm64

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
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Unit runs commands by a helper that the service manager starts for each, as a user of its
// own: systemd/dragoman-exec@.service. The helper binds them with Landlock and the filter of
// system calls; the user keeps the modes of the daemon's files, and the unit bounds memory and
// processes together and ends what is left.
//
// The user may go into a chat's folder only while a command of that chat runs there, and
// commands of one chat at a time. In it everybody may read and write; the state directory,
// which others may not enter, keeps everybody else out.
type Unit struct {
	socket    string
	workspace string // where programs read
	gate      gate
	reading   chan struct{} // one program that reads; others, and commands, wait for it
	leftovers sync.Once
}

// errBusy is the error of a command while one of another chat runs.
var errBusy = errors.New("a command of another chat runs; try again when it has ended")

// OpenUnit finds the unit that listens at a socket, and sees a workspace; nil if nothing is
// there.
func OpenUnit(socket, workspace string) *Unit {
	if info, err := os.Lstat(socket); err != nil || info.Mode()&fs.ModeSocket == 0 {
		return nil
	}
	return &Unit{socket: socket, workspace: workspace, reading: make(chan struct{}, 1)}
}

// Exec is [Exec] in the unit. The folder must lie in what the unit sees.
func (u *Unit) Exec(ctx context.Context, c Command) (Result, error) {
	return execute(ctx, c, func(ctx context.Context, out io.Writer, seconds int) (int, error) {
		select {
		case u.reading <- struct{}{}:
			<-u.reading
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		return u.run(ctx, out, request{Line: c.Line, Dir: c.Dir, Seconds: seconds})
	})
}

// run lets the helper do q, and returns the exit code of what it ran.
func (u *Unit) run(ctx context.Context, out io.Writer, q request) (int, error) {
	leave, err := u.gate.enter(q.Dir)
	if err != nil {
		return 0, err
	}
	defer leave()
	conn, err := u.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })() // the helper then ends it
	data, err := json.Marshal(q)
	if err == nil {
		err = writeFrame(conn, frameRequest, data)
	}
	for err == nil {
		var kind byte
		var data []byte
		kind, data, err = readFrame(conn)
		switch {
		case err != nil:
		case kind == frameOutput:
			_, err = out.Write(data)
		case kind == frameClosed:
			return 0, Closed(data)
		case kind == frameCode:
			return strconv.Atoi(string(data))
		}
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return 0, fmt.Errorf("sandbox: the helper's unit gave no answer (its log says more): %w", err)
}

// connect connects to the unit.
func (u *Unit) connect(ctx context.Context) (*net.UnixConn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", u.socket)
	if err != nil {
		return nil, Closed(fmt.Sprintf("the helper's socket %s does not answer (%v)", u.socket, err))
	}
	conn, _ := c.(*net.UnixConn)
	if err := listenedByRoot(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// listenedByRoot is nil if the service manager listens at the other end of conn: whoever else
// does would get keys, and do as it likes.
func listenedByRoot(conn *net.UnixConn) error {
	peer, err := peerOf(conn)
	if err == nil && peer.Uid != 0 {
		err = Closed(fmt.Sprintf("the user %d listens at the helper's socket, and only the service manager may", peer.Uid))
	}
	return err
}

// peerOf is who is at the other end of a socket.
func peerOf(conn *net.UnixConn) (peer *unix.Ucred, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var inner error
	err = raw.Control(func(fd uintptr) {
		peer, inner = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	return peer, errors.Join(err, inner)
}

// gate lets the helper's user into one folder at a time.
type gate struct {
	mu  sync.Mutex
	dir string
	n   int // of commands in it
}

// enter opens dir, which leave closes again after the last command.
func (g *gate) enter(dir string) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.n > 0 && g.dir != dir:
		return nil, errBusy
	case g.n == 0:
		err = share(dir)
		if err != nil {
			return nil, fmt.Errorf("sandbox: open the chat's folder: %w", err)
		}
	}
	g.dir = dir
	g.n++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.n--
		if g.n == 0 {
			_ = os.Chmod(dir, 0o700) // the next command opens it again
		}
	}, nil
}

const (
	anybody   = 0o777 // may use a folder, or with execution a file
	mostFiles = 50_000
)

// share lets everybody use what is ours in dir, and go through the two folders above it:
// whatever else is there is closed. No command runs in dir meanwhile.
func share(dir string) error {
	for _, above := range []string{filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
		info, err := os.Lstat(above)
		if err != nil {
			return err
		}
		if owned(info, os.Geteuid()) {
			err = os.Chmod(above, info.Mode().Perm()|0o011)
			if err != nil {
				return err
			}
		}
	}
	return openAll(dir, os.Geteuid())
}

// owned reports whether info is of a file or folder of that user.
func owned(info fs.FileInfo, uid int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == uid
}

// openAll lets everybody read and write the files and folders in dir that belong to a user,
// and dir itself. Links and files with several names are left alone.
func openAll(dir string, uid int) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() // nothing was written through it
	seen := 0
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		seen++
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return nil // what cannot be read now, nobody's command can
		}
		if seen > mostFiles {
			return fmt.Errorf("it has more than %d files", mostFiles)
		}
		info, err := d.Info()
		if err != nil || !owned(info, uid) {
			return nil
		}
		want := info.Mode().Perm() | 0o666
		if d.IsDir() {
			want = anybody
		}
		stat, _ := info.Sys().(*syscall.Stat_t)
		if info.Mode().Perm() == want || !d.IsDir() && stat.Nlink != 1 {
			return nil
		}
		return root.Chmod(name, want)
	})
}

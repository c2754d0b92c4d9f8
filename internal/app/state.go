package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"dragoman/internal/httpapi"
)

// stateDir is the daemon's folder, held by a lock: one daemon a folder.
type stateDir struct {
	path string
	lock *os.File
}

const (
	databaseName = "dragoman.db"
	folderName   = "sessions" // of the store of type file
	socketName   = "dragoman.sock"
	lockName     = "dragoman.lock"
	auditName    = "audit.log"
	erasingName  = "erasing.json" // while an erasure goes on
)

// errLocked: another process serves this folder.
var errLocked = errors.New("in use")

// lockState makes the folder if need be, private to its owner, and locks it.
// The lock goes with the process, however it ends. A folder that somebody else
// holds is an error that wraps errLocked and names the process.
func lockState(path string) (*stateDir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("app: the state directory %s cannot be made: %w", path, plainPathError(err))
	}
	name := filepath.Join(path, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("app: the state directory %s cannot be written: %w", path, plainPathError(err))
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(name)
		_ = f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("app: lock %s: %w", name, err)
		}
		who := strings.TrimSpace(string(holder))
		if who == "" {
			who = "another process"
		}
		return nil, fmt.Errorf("app: %s is %w by %s; stop it, or choose another state_dir", path, errLocked, who)
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, "dragoman with process id %d\n", os.Getpid()) // for the message above only
	}
	return &stateDir{path: path, lock: f}, nil
}

// lockWithin is how long a folder that nobody serves yet is waited for. A
// command of the operator's holds it for a moment, and a daemon that starts
// until its socket is there.
const lockWithin = 3 * time.Second

// waitState is lockState for a folder that may be free in a moment. As soon as
// a daemon answers there it returns errLocked.
func waitState(ctx context.Context, path string) (*stateDir, error) {
	deadline := time.Now().Add(lockWithin)
	for {
		s, err := lockState(path)
		if !errors.Is(err, errLocked) || served(ctx, path) || time.Now().After(deadline) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// served reports whether a daemon listens on the folder's socket.
func served(ctx context.Context, path string) bool {
	socket := httpapi.SocketTransport((&stateDir{path: path}).file(socketName))
	conn, err := socket.DialContext(ctx, "unix", "")
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func (s *stateDir) file(name string) string { return filepath.Join(s.path, name) }

// unlock lets the folder go. The lock file stays: removing it would let two
// processes lock two files of the same name.
func (s *stateDir) unlock() error { return s.lock.Close() }

// plainPathError puts the usual causes into a sentence.
func plainPathError(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("this user may not write there (%w)", err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("the file system is read-only (%w)", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the disk is full (%w)", err)
	}
	return err
}

// shortPath writes the home directory as "~", for people.
func shortPath(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "/" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, home+"/"); ok {
		return "~/" + rest
	}
	return path
}

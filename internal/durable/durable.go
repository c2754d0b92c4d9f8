// Package durable has what several packages need to write to disk: a lock that keeps other
// processes out, a queue of changes that share commits, and the syncing of folders.
//
// The promise: while a process holds a [Lock], no other gets it, and it ends with the
// process, however that ends. A [Queue] loses nothing: what was queued before Close is
// committed. The package starts no goroutines.
package durable

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ErrLocked means that another process has the lock.
var ErrLocked = errors.New("another process has this store open (a running daemon?)")

// lockTries and lockPause are how long Lock waits for another process: a tenth of a second.
const (
	lockTries = 5
	lockPause = 20 * time.Millisecond
)

// Lock opens or creates the file at path and locks it until it is closed. It refuses a
// link, which could name any file.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	// A program that we start has our files between fork and exec, and with them a lock
	// that we released meanwhile.
	for try := 0; ; try++ {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) || try == lockTries {
			break
		}
		time.Sleep(lockPause)
	}
	if err != nil {
		err = errors.Join(err, f.Close())
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock: %w", err)
	}
	return f, nil
}

// SyncDir makes the names in a folder durable: those of new, renamed and removed files. For
// the path of a file it makes the content durable.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

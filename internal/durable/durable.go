// Package durable holds what several packages need to write to disk: the lock
// that keeps other processes out, the taking of waiting changes for one commit,
// and the syncing of folders.
//
// The promise: while a process holds a [Lock], no other gets it, and it ends
// with the process however that ends. [Gather] loses nothing: what was handed
// in before the end is taken before the end. The package starts no goroutines.
package durable

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ErrLocked: another process has the lock.
var ErrLocked = errors.New("another process has this store open (a running daemon?)")

// lockTries and lockPause are how long a lock is waited for that another process
// has: a tenth of a second.
const (
	lockTries = 5
	lockPause = 20 * time.Millisecond
)

// Lock opens the file at path, or makes it, and takes its lock. Closing it
// gives the lock back. A link is refused: it could name any file.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	// A program that we start has our files for the moment between fork and exec,
	// and with them a lock that was given back meanwhile.
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

// Gather waits for one of what is handed in through ops and takes what else
// waits there, as much as batch has room for. Once closing is closed it waits
// no more, and returns nothing when nothing is left.
func Gather[T any](ops <-chan T, closing <-chan struct{}, batch []T) []T {
	batch = batch[:0]
	select {
	case o := <-ops:
		batch = append(batch, o)
	case <-closing:
	}
	for len(batch) < cap(batch) {
		select {
		case o := <-ops:
			batch = append(batch, o)
		default:
			return batch
		}
	}
	return batch
}

// SyncDir makes the names in a folder durable: those of new, renamed and
// removed files.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

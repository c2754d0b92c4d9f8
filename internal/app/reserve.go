package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"dragoman/internal/config"
	"dragoman/internal/durable"
)

const (
	reserveName = "reserve"
	// reserveBytes is what a start needs many times over, and what an erasure
	// needs in a store of a few megabytes.
	reserveBytes = 4 << 20
	// reserveShare: a reserve is made where there is room for it so many times.
	// It must not be what fills the disk.
	reserveShare = 4
)

// reserveEvery is how often a daemon looks whether there is room for a reserve
// that is not whole. The first time is as long after its start: a command that
// is over in a moment does not write megabytes.
var reserveEvery = 10 * time.Second

// reserve is a file without a use, in the state directory, for the night on
// which the disk is full. A store cannot be opened, and nothing can be erased,
// without writing a little. Then the file goes for as long as that takes, and
// is written again with as much as fits. A daemon that serves does not live on
// it: messages would use it up, and the next start would fail.
type reserve struct {
	dir, path string
	log       *slog.Logger
	tell      func(format string, args ...any)

	mu   sync.Mutex
	lent int  // to so many at once
	was  bool // removed for them
	gone bool // the log was told that it is not whole
}

// openReserve is the reserve of a state directory. Where nothing is kept none
// is needed, and a view has none of its own: then it is nil, which does nothing.
// Tell, if not nil, says it to a person.
func openReserve(cfg *config.Config, s *stateDir, log *slog.Logger, tell func(format string, args ...any)) *reserve {
	if cfg.Store.Type == memoryType || s.path != cfg.StateDir {
		return nil
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &reserve{dir: s.path, path: s.file(reserveName), log: log, tell: tell}
}

// lend makes room if the disk is full, until back is called.
func (r *reserve) lend() (back func()) {
	if r == nil {
		return func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lent++
	if free, known := room(r.dir); known && free < reserveBytes && r.held() > 0 {
		if err := r.remove(); err != nil {
			r.log.Warn("the disk is full, and the reserve for that cannot be used", "file", r.path, "err", err)
		} else {
			r.was = true
			r.log.Warn("the disk is full; using the reserve, so make room soon", "file", r.path, "bytes_free", free)
			if r.tell != nil {
				r.tell("the disk of %s is full; this uses the reserve that was kept for that. Make room soon", r.dir)
			}
		}
	}
	return sync.OnceFunc(r.takeBack)
}

// remove gives the room to others. The sync makes file systems give it that
// would wait with it.
func (r *reserve) remove() error {
	if err := os.Remove(r.path); err != nil {
		return err
	}
	return durable.SyncDir(r.dir)
}

// takeBack writes the file again if it was removed. What was used is missing.
func (r *reserve) takeBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lent--; r.lent > 0 || !r.was {
		return
	}
	r.was = false
	r.fill()
}

// keep makes the reserve whole when there is room, until ctx ends.
func (r *reserve) keep(ctx context.Context) {
	if r == nil {
		return
	}
	tick := time.NewTicker(reserveEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r.mu.Lock()
		if free, known := room(r.dir); known && r.lent == 0 && r.held() < reserveBytes && free >= reserveShare*reserveBytes {
			r.fill()
		}
		r.mu.Unlock()
	}
}

// fill adds to the file what is missing, as far as there is room, and says so
// if that changes something. Its bytes are random: a file system that packs
// what it is given keeps room for nothing else.
func (r *reserve) fill() {
	held := r.held()
	if held < 0 || held >= reserveBytes {
		return
	}
	f, err := r.open()
	if err == nil {
		// In small pieces: one that does not fit may be refused as a whole.
		_, err = io.CopyBuffer(onlyWriter{f}, io.LimitReader(rand.Reader, reserveBytes-max(r.held(), 0)), make([]byte, 16<<10))
		err = errors.Join(err, f.Sync(), f.Close())
	}
	switch {
	case err != nil && !r.gone:
		r.log.Warn("the reserve for a full disk is incomplete; free some space, and it will be refilled", "file", r.path, "bytes", r.held(), "err", err)
	case err == nil && r.gone:
		r.log.Info("the reserve for a full disk is complete again", "file", r.path)
	}
	r.gone = err != nil
}

// open opens the file to add to it. A command of another user, root's for one,
// may have written it; the folder is ours, so a new one takes its place.
func (r *reserve) open() (*os.File, error) {
	const flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND | syscall.O_NOFOLLOW
	f, err := os.OpenFile(r.path, flags, 0o600)
	if errors.Is(err, fs.ErrPermission) && os.Remove(r.path) == nil {
		return os.OpenFile(r.path, flags, 0o600)
	}
	return f, err
}

// onlyWriter is a writer that takes the pieces as they come.
type onlyWriter struct{ io.Writer }

// held is how many bytes the file has; -1: it is none of ours.
func (r *reserve) held() int64 {
	info, err := os.Lstat(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0
	case err != nil || !info.Mode().IsRegular():
		return -1
	}
	return info.Size()
}

// bytes is held, for the metrics.
func (r *reserve) bytes() float64 {
	if r == nil {
		return 0
	}
	return float64(max(r.held(), 0))
}

// warnings say that the reserve is not there and why it does not come by itself.
func (r *reserve) warnings() []string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	held := r.held()
	free, known := room(r.dir)
	switch {
	case held < 0:
		return []string{fmt.Sprintf("%s is not a file, so there is no reserve for a start on a full disk; move it away", r.path)}
	case r.was:
		return []string{fmt.Sprintf("the disk of %s is full, and the reserve that was kept for that is in use; make room soon", r.dir)}
	case known && held < reserveBytes && free < reserveShare*reserveBytes:
		return []string{fmt.Sprintf("the disk of %s is full or almost full, and the reserve for starting or erasing on a full disk has only %d of %d kB; make room", r.dir, held>>10, reserveBytes>>10)}
	}
	return nil
}

// room is how many bytes can be written on the disk of dir. Some file systems
// do not tell.
func room(dir string) (bytes int64, known bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil || st.Blocks == 0 {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

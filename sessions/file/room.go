package file

import (
	"context"
	"fmt"
	"syscall"
)

// free is how many bytes there is room for on the disk of a folder. Tests put
// a disk of theirs in its place.
var free = func(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// Check implements [sessions.Store]. What it writes is small and can fit where
// messages do not: after a commit for which there was no room the store is in
// trouble until one as large was made, or there is room for it twice.
func (s *Store) Check(ctx context.Context) error {
	if err := s.Store.Check(ctx); err != nil {
		return err
	}
	if err := s.disk.room(); err != nil {
		return fmt.Errorf("file: check: %w", err)
	}
	return nil
}

// room tells of a commit that was refused.
func (d *disk) room() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	size := d.journal.refused
	if size == 0 {
		return nil
	}
	n, err := free(d.dir)
	if err != nil {
		return err
	}
	if n < 2*int64(size) {
		return fmt.Errorf("the disk of %s is full: a commit of %d bytes was refused, and there is room for %d: %w", d.dir, size, n, syscall.ENOSPC)
	}
	d.journal.refused = 0
	return nil
}

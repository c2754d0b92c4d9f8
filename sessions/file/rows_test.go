package file_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"dragoman/sessions/file"
	"dragoman/sessions/rows"
	"dragoman/sessions/rowstest"
)

func TestRows(t *testing.T) {
	rowstest.Run(t, func(t *testing.T) rows.Backend {
		return openWith(t, filepath.Join(t.TempDir(), "sessions"), file.Options{}).Backend()
	})
}

// openRows opens a store whose documents are written all the time.
func openRows(ctx context.Context, dir string) (rows.Backend, error) {
	s, err := file.Open(ctx, filepath.Join(dir, "sessions"), hurried)
	if err != nil {
		return nil, err
	}
	return closing{s.Backend(), s}, nil
}

// closing closes the whole store.
type closing struct {
	rows.Backend
	s *file.Store
}

func (c closing) Close() error { return c.s.Close() }

func TestRowsDurable(t *testing.T) { rowstest.RunDurable(t, openRows) }

func TestRowsOnAFullDisk(t *testing.T) {
	rowstest.RunFull(t, func(t *testing.T) (rows.Backend, func(bool)) {
		dir := filepath.Join(t.TempDir(), "sessions")
		s := openWith(t, dir, file.Options{})
		var full atomic.Bool
		var calls atomic.Int64
		file.OnSync(t, func(path string) error {
			// What is in the way can be cut off again, which is the next sync.
			if full.Load() && filepath.Dir(path) == filepath.Join(dir, "log") {
				if calls.Add(1)%2 == 1 {
					return syscall.ENOSPC
				}
			}
			return nil
		})
		return s.Backend(), full.Store
	})
}

package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// File is a file as it is copied from one store to another, or into a backup.
type File struct {
	Name string // also of uploads
	Size int64
	At   time.Time
}

// Each calls f for every file, which reads it to its end. One that goes meanwhile
// is passed over.
func (s *Store) Each(ctx context.Context, f func(File, io.Reader) error) error {
	folders, err := s.shelf.folders()
	if err != nil {
		return fmt.Errorf("media: list the files: %w", bare(err))
	}
	for _, folder := range folders {
		if folder == tempDir {
			continue
		}
		list, err := s.shelf.list(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("media: list the files: %w", bare(err))
		}
		for _, e := range list {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := s.one(folder+"/"+e.name, e, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) one(name string, e entry, f func(File, io.Reader) error) error {
	r, size, err := s.shelf.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("media: read a file: %w", bare(err))
	}
	return errors.Join(f(File{name, size, e.at}, r), r.Close())
}

// Copy brings the files of s to another store, with their times. Those
// that are there are passed over, so that a copy that was cut off goes on. It
// returns how many were brought.
func (s *Store) Copy(ctx context.Context, to *Store) (n int, err error) {
	err = s.Each(ctx, func(f File, r io.Reader) error {
		if size, err := to.size(f.Name); err == nil && size == f.Size {
			return nil
		}
		if err := put(to.shelf, f.Name, r, f.At); err != nil {
			return fmt.Errorf("media: copy a file: %w", bare(err))
		}
		n++
		return nil
	})
	return n, err
}

// Used is how many bytes all files take.
func (s *Store) Used() (int64, error) { return s.shelf.used() }

package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"dragoman/channels"
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

// Join gives the files of from to the conversation of to. Having none is no
// error. [Store.Open] finds them under their old names as well.
func (s *Store) Join(from, to channels.Key) error {
	if to.IsZero() || from == to {
		return nil
	}
	if err := s.give(from, to, s.shelf.rename); err != nil {
		return fmt.Errorf("media: move the files of %s: %w", from, bare(err))
	}
	return s.Remove(from) // and with it the second names of files that were shared
}

// Share gives the files of from to the conversation of to as well: from keeps
// them until [Store.Join]. Between the two the transcripts are joined, and
// whichever of them a crash leaves behind has its files: what no transcript
// names is removed under the one name only. Sharing again changes nothing.
func (s *Store) Share(from, to channels.Key) error {
	err := s.give(from, to, s.shelf.link)
	s.room.forget()
	if err != nil {
		return fmt.Errorf("media: share the files of %s: %w", from, bare(err))
	}
	return nil
}

// give calls how with the name of each file of from and its name in to.
func (s *Store) give(from, to channels.Key, how func(from, to string) error) error {
	if to.IsZero() || from == to {
		return nil
	}
	files, err := s.Files(from)
	for _, file := range files {
		if err == nil {
			err = how(file, to.FileName()+"/"+path.Base(file))
		}
	}
	return err
}

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

// File describes a file that [Store.Each] reads.
type File struct {
	Name string // FOLDER/FILE; uploads included
	Size int64
	At   time.Time
}

// Each calls f for every file. f reads it to its end. Each skips files that are removed
// meanwhile.
func (s *Store) Each(ctx context.Context, f func(File, io.Reader) error) error {
	folders, err := s.files.folders()
	if err != nil {
		return fmt.Errorf("media: list the files: %w", withoutPath(err))
	}
	for _, folder := range folders {
		if folder == tempDir {
			continue
		}
		list, err := s.files.list(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("media: list the files: %w", withoutPath(err))
		}
		for _, e := range list {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := s.read(folder+"/"+e.name, e, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) read(name string, e entry, f func(File, io.Reader) error) error {
	r, size, err := s.files.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("media: read a file: %w", withoutPath(err))
	}
	return errors.Join(f(File{name, size, e.at}, r), r.Close())
}

// Copy copies the files of s to another store, with their times, and returns how many it
// copied. It skips those that are already there, so an interrupted copy can continue.
func (s *Store) Copy(ctx context.Context, to *Store) (n int, err error) {
	err = s.Each(ctx, func(f File, r io.Reader) error {
		if size, err := to.size(f.Name); err == nil && size == f.Size {
			return nil
		}
		if err := put(to.files, f.Name, r, f.At); err != nil {
			return fmt.Errorf("media: copy a file: %w", withoutPath(err))
		}
		n++
		return nil
	})
	return n, err
}

// Used returns the size of all files together, in bytes.
func (s *Store) Used() (int64, error) { return s.files.used() }

// Join moves the files of from to the conversation of to. Having none is no error.
// [Store.Open] also finds them under their old names.
func (s *Store) Join(from, to channels.Key) error {
	if to.IsZero() || from == to {
		return nil
	}
	if err := s.rename(from, to, s.files.rename); err != nil {
		return fmt.Errorf("media: move the files of %s: %w", from, withoutPath(err))
	}
	return s.Remove(from) // also the names that Share left
}

// Share gives the files of from a second name in the conversation of to, until
// [Store.Join]. The caller joins the transcripts between the two. If it crashes there,
// either transcript has its files, and Tidy removes only the other name of each. Sharing
// again changes nothing.
func (s *Store) Share(from, to channels.Key) error {
	err := s.rename(from, to, s.files.link)
	s.quota.invalidate()
	if err != nil {
		return fmt.Errorf("media: share the files of %s: %w", from, withoutPath(err))
	}
	return nil
}

// rename calls f with the name of each file of from and its name in to.
func (s *Store) rename(from, to channels.Key, f func(from, to string) error) error {
	if to.IsZero() || from == to {
		return nil
	}
	files, err := s.Files(from)
	for _, file := range files {
		if err == nil {
			err = f(file, to.FileName()+"/"+path.Base(file))
		}
	}
	return err
}

package media

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"dragoman/channels"
)

// ReadPart reads a part of a file of k's conversation, from off on, and
// returns how much it read and how large the file is. It reads what is there
// up to the end, without an error. The folder in file does not count: files
// of other conversations cannot be named. [fs.ErrNotExist] says that k's has
// no such file.
func (s *Store) ReadPart(k channels.Key, file string, p []byte, off int64) (n int, size int64, err error) {
	if k.IsZero() {
		return 0, 0, fmt.Errorf("media: read: %w", fs.ErrNotExist)
	}
	file = k.FileName() + "/" + path.Base(file)
	if !s.Belongs(k, file) {
		return 0, 0, fmt.Errorf("media: read: %w", fs.ErrNotExist)
	}
	f, size, err := s.regular(file)
	if err != nil {
		return 0, 0, fmt.Errorf("media: read: %w", bare(err))
	}
	n, err = f.ReadAt(p, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, 0, fmt.Errorf("media: read: %w", bare(err))
	}
	return n, size, nil
}

// regular opens a file that is one itself: a link would lead to that of
// another conversation. What was looked at is what was opened.
func (s *Store) regular(file string) (*os.File, int64, error) {
	named, err := s.root.Lstat(file)
	if err != nil {
		return nil, 0, err
	}
	folder, err := s.root.Lstat(path.Dir(file))
	if err != nil {
		return nil, 0, err
	}
	if !named.Mode().IsRegular() || !folder.IsDir() {
		return nil, 0, fs.ErrNotExist
	}
	// Without O_NONBLOCK the open of a FIFO would wait for a writer for ever.
	f, err := s.root.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(named, info) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

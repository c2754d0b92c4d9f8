package media

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"dragoman/channels"
)

// ReadPart reads a part of a file of k's conversation, from off on, and
// returns how much it read and how large the file is. It reads what is there
// up to the end, without an error. The folder in file does not count: files
// of other conversations cannot be named. [fs.ErrNotExist] says that k's has
// no such file.
func (s *Store) ReadPart(k channels.Key, file string, p []byte, off int64) (n int, size int64, err error) {
	file = k.FileName() + "/" + path.Base(file)
	if k.IsZero() || !ours(file) {
		return 0, 0, fmt.Errorf("media: read: %w", fs.ErrNotExist)
	}
	f, size, err := s.shelf.open(file)
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

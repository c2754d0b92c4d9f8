package media

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"dragoman/channels"
)

// Join gives the files of from to the conversation of to. Having none is no
// error. [Store.Open] finds them under their old names as well.
func (s *Store) Join(from, to channels.Key) error {
	if from.IsZero() || to.IsZero() || from == to {
		return nil
	}
	if err := s.join(from.FileName(), to.FileName()); err != nil {
		return fmt.Errorf("media: move the files of %s: %w", from, bare(err))
	}
	return nil
}

func (s *Store) join(from, to string) error {
	files, err := s.list(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := s.publish(from+"/"+name, to+"/"+name); err != nil {
			return err
		}
	}
	if err := s.root.RemoveAll(from); err != nil {
		return err
	}
	return s.sync(".")
}

// Share gives the files of from to the conversation of to as well: from keeps
// them until [Store.Join]. Between the two the transcripts are joined, and
// whichever of them a crash leaves behind has its files: what no transcript
// names is removed under the one name only. Sharing again changes nothing.
func (s *Store) Share(from, to channels.Key) error {
	if from.IsZero() || to.IsZero() || from == to {
		return nil
	}
	if err := s.share(from.FileName(), to.FileName()); err != nil {
		return fmt.Errorf("media: share the files of %s: %w", from, bare(err))
	}
	return nil
}

func (s *Store) share(from, to string) error {
	files, err := s.list(from)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(files) == 0 {
		return nil
	}
	if err == nil {
		err = s.folder(to)
	}
	for _, name := range files {
		if err != nil {
			return err
		}
		if err = s.root.Link(from+"/"+name, to+"/"+name); err == nil || errors.Is(err, fs.ErrExist) {
			err = nil
			continue
		}
		err = s.copy(from+"/"+name, to+"/"+name) // this file system has no such links
	}
	if err != nil {
		return err
	}
	return s.sync(to)
}

// copy is Share of one file where it cannot have two names.
func (s *Store) copy(from, to string) (err error) {
	source, err := s.root.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	temp := path.Join(tempDir, rand.Text())
	f, err := s.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, source)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.publish(temp, to)
	}
	if err != nil {
		_ = s.root.Remove(temp)
	}
	s.room.forget()
	return err
}

// isShared reports whether file has another name, as between Share and Join.
func (s *Store) isShared(file string) bool {
	info, err := s.root.Lstat(file)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}

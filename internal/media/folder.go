package media

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"
)

const (
	// tempDir holds files that are being written. It is not a key's folder, because the
	// name of each of those has a "_".
	tempDir = "tmp"
	// unfinishedAfter is the age at which no node can still be writing such a file.
	unfinishedAfter = 24 * time.Hour
)

// folder is a backend in a directory, with a folder for each conversation.
type folder struct{ root *os.Root }

// openFolder creates dir if it is missing. It removes half-written files: all of them,
// or the old ones if other nodes may be writing.
func openFolder(dir string, shared bool) (_ folder, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return folder{}, fmt.Errorf("media: make the directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return folder{}, fmt.Errorf("media: open the directory: %w", err)
	}
	s := folder{root}
	if shared {
		err = s.collect()
	} else {
		err = root.RemoveAll(tempDir)
	}
	if err == nil {
		if err = root.Mkdir(tempDir, 0o700); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if err != nil {
		return s, errors.Join(fmt.Errorf("media: empty the folder of unfinished files: %w", err), root.Close())
	}
	return s, nil
}

func (s folder) collect() error {
	old, err := s.list(tempDir)
	for _, e := range old {
		if time.Since(e.at) > unfinishedAfter {
			err = errors.Join(err, s.root.Remove(tempDir+"/"+e.name))
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s folder) close() error { return s.root.Close() }

// tempFile is a draft in a folder. It lies under a random name in the folder for
// temporary files until it is published.
type tempFile struct {
	*os.File
	s    folder
	name string
}

func (s folder) create() (draft, error) {
	name := path.Join(tempDir, rand.Text())
	f, err := s.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return tempFile{f, s, name}, nil
}

func (f tempFile) publish(name string, at time.Time) error {
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = f.s.root.Chtimes(f.name, at, at) // zero changes nothing
	}
	if err == nil {
		err = f.s.rename(f.name, name)
	}
	return err
}

// discard removes the file, if it was not published. If that fails, openFolder does it.
func (f tempFile) discard() {
	_ = f.Close()
	_ = f.s.root.Remove(f.name)
}

func (s folder) rename(from, to string) error {
	var err error
	for range 2 { // unlink may remove the empty folder meanwhile
		if err = s.make(path.Dir(to)); err == nil {
			err = s.root.Rename(from, to)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err == nil {
		err = s.sync(path.Dir(to))
	}
	return err
}

// make creates a folder if it is missing.
func (s folder) make(name string) error {
	err := s.root.Mkdir(name, 0o700)
	switch {
	case err == nil:
		return s.sync(".")
	case errors.Is(err, fs.ErrExist):
		return nil
	}
	return err
}

// sync makes the entries of a folder durable.
func (s folder) sync(name string) error {
	f, err := s.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (s folder) link(from, to string) error {
	err := s.make(path.Dir(to))
	if err == nil {
		err = s.root.Link(from, to)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil: // the file system may not have hard links
		if err = s.copy(from, to); err != nil {
			return err
		}
	}
	return s.sync(path.Dir(to))
}

// copy replaces link on a file system without hard links.
func (s folder) copy(from, to string) error {
	source, _, err := s.open(from)
	if err != nil {
		return err
	}
	return errors.Join(put(s, to, source, time.Time{}), source.Close())
}

// open refuses symbolic links, which could lead to a file of another conversation. It
// checks that the file that it opened is the one that it looked at.
func (s folder) open(name string) (content, int64, error) {
	named, err := s.root.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	dir, err := s.root.Lstat(path.Dir(name))
	if err != nil {
		return nil, 0, err
	}
	if !named.Mode().IsRegular() || !dir.IsDir() {
		return nil, 0, fs.ErrNotExist
	}
	// Without O_NONBLOCK, opening a FIFO would block until it has a writer.
	f, err := s.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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

// names looks into every folder only if the file has several names or was moved.
func (s folder) names(name string) ([]string, error) {
	info, err := s.root.Lstat(name)
	if err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Nlink == 1 {
			return []string{name}, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all, err := s.folders()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, dir := range all {
		other := dir + "/" + path.Base(name)
		if _, err := s.root.Lstat(other); err == nil {
			names = append(names, other)
		}
	}
	return names, nil
}

func (s folder) folders() ([]string, error) { return s.entries(".") }

func (s folder) entries(dir string) ([]string, error) {
	f, err := s.root.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

func (s folder) list(dir string) ([]entry, error) {
	names, err := s.entries(dir)
	if err != nil {
		return nil, err
	}
	all := make([]entry, 0, len(names))
	for _, name := range names {
		info, err := s.root.Lstat(dir + "/" + name)
		if err == nil && info.Mode().IsRegular() {
			all = append(all, entry{name, info.Size(), info.ModTime()})
		}
	}
	return all, nil
}

func (s folder) unlink(names ...string) (gone []string, err error) {
	var errs []error
	dirs := map[string]bool{}
	for _, name := range names {
		switch err := s.root.Remove(name); {
		case err == nil:
			gone, dirs[path.Dir(name)] = append(gone, name), true
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	for dir := range dirs {
		if s.root.Remove(dir) == nil { // nothing is left in it
			dir = "."
		}
		errs = append(errs, s.sync(dir))
	}
	return gone, errors.Join(errs...)
}

func (s folder) drop(dir string) error {
	if err := s.root.RemoveAll(dir); err != nil {
		return err
	}
	return s.sync(".")
}

func (s folder) used() (used int64, err error) {
	err = fs.WalkDir(s.root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it was removed meanwhile
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			used += info.Size()
		}
		return nil
	})
	return used, err
}

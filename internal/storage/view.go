package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A view is a copy of a store that is only to be read. A store that is opened
// writes, if only to take in what a crash left in its log; so the copy is
// opened instead, whatever state and version it is of.

// viewPrefix begins the names of views.
const viewPrefix = "dragoman-view-"

// viewAge is how old a view is that nobody holds before it counts as left by a
// process that was killed.
const viewAge = time.Hour

// notWritten is err, the outcome of an attempt to write into the folder at
// path.
func notWritten(path string, err error) error {
	advice := ""
	if errors.Is(err, syscall.EROFS) {
		advice = "; to read what is there, copy it elsewhere and name the copy as state_dir"
	}
	return fmt.Errorf("storage: the state directory %s cannot be written: %w%s", path, plainPathError(err), advice)
}

// checkWritable tells why the folder at path cannot be written, if it is there.
// It writes nothing.
func checkWritable(path string) error {
	const write = 2 // W_OK
	if err := syscall.Access(path, write); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return notWritten(path, &fs.PathError{Op: "write", Path: path, Err: err})
	}
	return nil
}

// NewView makes a folder for a copy in parent, locked as a state directory is,
// so that nobody takes it for one that a dead process left.
func NewView(parent, verb string) (*Dir, func(), error) {
	sweepViews(parent, viewAge)
	path, err := os.MkdirTemp(parent, viewPrefix)
	if err != nil {
		return nil, nil, fmt.Errorf("storage: make room for a copy of the store: %w", plainPathError(err))
	}
	dir, err := lockState(path, verb)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(path))
	}
	return dir, func() { _, _ = os.RemoveAll(path), dir.Unlock() }, nil
}

// sweepViews removes the views in parent that processes left which were killed,
// if they have not changed for as long as age. Others may write in parent, too:
// what is not this user's alone is not touched.
func sweepViews(parent string, age time.Duration) {
	left, _ := filepath.Glob(filepath.Join(parent, viewPrefix+"*"))
	for _, path := range left {
		info, err := os.Lstat(path)
		if err != nil || !private(info) || time.Since(info.ModTime()) < age {
			continue
		}
		if info, err := os.Lstat(filepath.Join(path, lockName)); err != nil || !info.Mode().IsRegular() {
			continue // of somebody else
		}
		if dir, err := lockState(path, ""); err == nil {
			_, _ = os.RemoveAll(path), dir.Unlock()
		}
	}
}

// private reports whether info is a folder of this user's that nobody else may
// look into, like every view.
func private(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == os.Geteuid() && info.Mode() == fs.ModeDir|0o700
}

// notRead is err, the outcome of an attempt to read what is in the folder at
// path.
func notRead(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("storage: this user may not read the state in %s (%w)", path, err)
	}
	return fmt.Errorf("storage: the state in %s cannot be read: %w", path, plainPathError(err))
}

// lockToRead keeps others from changing what the lock at path guards, without
// writing. Where there is no lock nobody has ever been.
func lockToRead(path string) (release func(), err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, notRead(filepath.Dir(path), err)
	}
	if err := takeLock(f, filepath.Dir(path), syscall.LOCK_SH); err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// copyInto copies the store at p, which nobody may have open, into dir, under
// its own name. There may be none yet.
func (p Location) copyInto(ctx context.Context, dir string) error {
	info, err := os.Stat(p.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return notRead(filepath.Dir(p.Path), err)
	}
	lock, names := p.Path+".lock", []string{p.Path, p.Path + "-wal"}
	if info.IsDir() {
		lock = filepath.Join(p.Path, "lock")
		if names, err = filesBelow(p.Path); err != nil {
			return notRead(filepath.Dir(p.Path), err)
		}
	}
	still, err := lockToRead(lock)
	if err != nil {
		return err
	}
	defer still()
	for _, name := range names {
		to := filepath.Join(dir, filepath.Base(p.Path)) + strings.TrimPrefix(name, p.Path)
		err := ctx.Err()
		if err == nil {
			err = copyFile(name, to)
		}
		if err != nil && !(name != p.Path && errors.Is(err, fs.ErrNotExist)) {
			if at := (*fs.PathError)(nil); errors.As(err, &at) && at.Path == name {
				return notRead(filepath.Dir(p.Path), err)
			}
			return fmt.Errorf("storage: copy the store to read it, to %s: %w", dir, plainPathError(err))
		}
	}
	return nil
}

// filesBelow are the files in the folder dir and below.
func filesBelow(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			names = append(names, path)
		}
		return nil
	})
	return names, err
}

// copyFile copies a file for this user alone, with the time of its last change,
// by which a store knows what it has seen.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close(), os.Chtimes(to, time.Time{}, info.ModTime()))
}

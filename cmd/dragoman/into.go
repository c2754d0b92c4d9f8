package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"dragoman/internal/durable"
)

// into writes to a file that only its owner can read, or to standard output.
// The file is there when it is whole, and not before; one that is there
// already is replaced only on demand.
func (e *env) into(path string, force bool, f func(io.Writer) error) error {
	return e.intoChecked(path, force, f, func(*os.File) error { return nil })
}

// intoChecked is into for a file that check reads from its beginning before it
// gets its name.
func (e *env) intoChecked(path string, force bool, f func(io.Writer) error, check func(*os.File) error) (err error) {
	if path == "" {
		w := bufio.NewWriter(e.out)
		return errors.Join(f(w), w.Flush())
	}
	taken := &usageError{fmt.Sprintf("%s exists already; name another file, or add --force", path)}
	if _, err := os.Lstat(path); err == nil && !force {
		return taken
	}
	file, err := draft(path)
	if err != nil {
		return notWritten(path, err)
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if rm := os.Remove(file.Name()); !errors.Is(rm, fs.ErrNotExist) {
			err = errors.Join(err, rm)
		}
	}()
	w := bufio.NewWriter(file)
	if err := errors.Join(f(w), w.Flush(), file.Sync()); err != nil {
		return notWritten(path, err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return notWritten(path, err)
	}
	if err := check(file); err != nil {
		return err
	}
	if force {
		err = os.Rename(file.Name(), path)
	} else if err = os.Link(file.Name(), path); errors.Is(err, fs.ErrExist) {
		return taken // somebody made it meanwhile
	}
	if err != nil {
		return notWritten(path, err)
	}
	return durable.SyncDir(filepath.Dir(path))
}

// partEnding is how the name of a file ends that is not whole yet.
const partEnding = ".part"

// draft makes the file that becomes path when it is whole, for its owner alone.
// It is locked for as long as somebody writes it, so one without a lock is of a
// writer that was killed: those go first.
func draft(path string) (*os.File, error) {
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+"."
	for {
		sweepDrafts(dir, prefix)
		file, err := os.CreateTemp(dir, prefix+"*"+partEnding) // mode 0600
		if err != nil {
			return nil, err
		}
		// Another sweep may come before the lock: then this one is gone. Where
		// there are no locks nothing is swept either.
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil || isStill(file) {
			return file, nil
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
}

func isStill(file *os.File) bool {
	at, err := os.Lstat(file.Name())
	if err != nil {
		return false
	}
	info, err := file.Stat()
	return err == nil && os.SameFile(at, info)
}

// sweepDrafts removes drafts that nobody writes any more. What cannot be
// removed is no reason not to write another one.
func sweepDrafts(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		middle, ours := strings.CutPrefix(e.Name(), prefix)
		middle, whole := strings.CutSuffix(middle, partEnding)
		if !ours || !whole || strings.Trim(middle, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		file, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.Remove(file.Name())
		}
		_ = file.Close()
	}
}

// notWritten says what is wrong with path, and not with the name that the file
// has until it is whole. Other errors stay as they are.
func notWritten(path string, err error) error {
	if why := cause(err); why != err {
		return tell(why, "%s cannot be written", path)
	}
	return err
}

// cause is err without the name of a file that no person gave.
func cause(err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		return at.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

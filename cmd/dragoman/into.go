package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"dragoman/internal/durable"
)

// into writes to a file that only its owner can read, or to standard output. The
// file gets its name when it is complete and check, which may be nil, has read it. An
// existing one is replaced only with force.
func (e *env) into(path string, force bool, f func(io.Writer) error, check func(*os.File) error) (err error) {
	if path == "" {
		w := bufio.NewWriter(e.out)
		return errors.Join(f(w), w.Flush())
	}
	taken := &usageError{fmt.Sprintf("%s exists already; name another file, or add --force", path)}
	if _, err := os.Lstat(path); err == nil && !force {
		return taken
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part") // mode 0600
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
	if check != nil {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return notWritten(path, err)
		}
		if err := check(file); err != nil {
			return err
		}
	}
	if force {
		err = os.Rename(file.Name(), path)
	} else if err = os.Link(file.Name(), path); errors.Is(err, fs.ErrExist) {
		return taken // another program made it meanwhile
	}
	if err != nil {
		return notWritten(path, err)
	}
	return durable.SyncDir(filepath.Dir(path))
}

// notWritten names path in an error, instead of the temporary file. Other errors
// are returned unchanged.
func notWritten(path string, err error) error {
	if why := cause(err); why != err {
		return plainErrorf(why, "%s cannot be written", path)
	}
	return err
}

// cause is err without the name of the file.
func cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}

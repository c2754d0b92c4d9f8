package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"dragoman/internal/durable"
)

const (
	draftEnding   = ".draft"
	corruptEnding = ".corrupt-"
)

// fsync is the one way to make what was written to a file, or the names in a
// folder, durable. Tests put their own disk in its place.
var fsync = (*os.File).Sync

// lockDir makes the directory and takes the lock that keeps other processes
// out. The lock ends with the process, however that ends.
func lockDir(dir string) (*os.File, error) {
	for _, sub := range storeDirs {
		d := filepath.Join(dir, sub)
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
		if err := os.Chmod(d, 0o700); err != nil {
			return nil, err
		}
	}
	f, err := durable.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Chmod(0o600), syncDir(dir), syncDir(filepath.Dir(dir))); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// draft opens a file that is to replace the one at path.
func draft(path string) (*os.File, error) {
	return os.OpenFile(path+draftEnding, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
}

// replace puts a draft in the place of the file at path, which has the old
// content or the new one, whenever the machine dies. The new name is durable
// after syncDir.
func replace(path string, f *os.File) (info fs.FileInfo, err error) {
	if err = fsync(f); err == nil {
		info, err = f.Stat()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		// A draft that is left over is removed at the next start.
		err = errors.Join(err, removed(os.Remove(f.Name())))
	}
	return info, err
}

// removed takes it as well that the file was not there.
func removed(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(fsync(f), f.Close())
}

// openAt opens the file at path to be written on after its first size bytes: the
// rest is of a writing that did not end. One that is shorter is as good as none.
// Errors: fs.ErrNotExist.
func openAt(path string, size int64) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // it may be a pipe
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < size {
		err = fs.ErrNotExist
	}
	if err == nil { // a copy that somebody put back may be one that others can read
		err = errors.Join(f.Chmod(0o600), f.Truncate(size))
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// pathsWith are the files in folders of the store at dir whose names have that
// ending; none in a folder that is not there or is a file. The names of folders can hold anything,
// what is a pattern elsewhere included.
func pathsWith(dir, ending string, subs ...string) (paths []string, err error) {
	for _, sub := range subs {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err = removed(err); err != nil && !errors.Is(err, syscall.ENOTDIR) {
			return nil, err
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ending) {
				paths = append(paths, filepath.Join(dir, sub, e.Name()))
			}
		}
	}
	return paths, nil
}

// setAside renames a file that cannot be read, so that nothing overwrites it,
// and returns its new name.
func setAside(path string, now time.Time) (string, error) {
	for n := 0; ; n++ {
		aside := path + corruptEnding + now.UTC().Format("20060102T150405Z")
		if n > 0 {
			aside += fmt.Sprintf("-%d", n)
		}
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		if err := os.Rename(path, aside); err != nil {
			return "", err
		}
		return filepath.Base(aside), syncDir(filepath.Dir(path))
	}
}

// Damaged lists the files in the store at dir that were set aside because
// they could not be read, for the operator.
func Damaged(dir string) (found []string, err error) {
	for _, sub := range storeDirs {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err = removed(err); err != nil {
			return nil, fmt.Errorf("file: list damaged files: %w", err)
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), corruptEnding) {
				found = append(found, filepath.Join(sub, e.Name()))
			}
		}
	}
	return found, nil
}

// dataDirs are the folders with documents and archives, storeDirs all folders of
// a store.
var (
	dataDirs  = []string{documentDir, archiveDir, jobDir}
	storeDirs = append([]string{"."}, dataDirs...)
)

// readRegular reads the file at path. What is there and is no file, or cannot
// be read, is damage like any other: one conversation must not stop all of
// them. It waits for nobody, as the reading of a pipe does.
func readRegular(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return data, unreadable(err)
}

func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, unreadable(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: it is no file", errDamaged)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unreadable takes an error that belongs to one file for damage. Others, like
// too many open files, pass.
func unreadable(err error) error {
	for _, one := range []error{fs.ErrPermission, syscall.EIO, syscall.EISDIR, syscall.ELOOP, syscall.ENXIO, syscall.ENODEV} {
		if errors.Is(err, one) {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	return err
}

package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	for _, d := range []string{dir, filepath.Join(dir, documentDir), filepath.Join(dir, archiveDir), filepath.Join(dir, jobDir), filepath.Join(dir, logDir)} {
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

// replace makes data the content of the file at path: it has the old content
// or the new one, whenever the machine dies. The new name is durable after
// syncDir.
func replace(path string, data []byte) error {
	draft := path + draftEnding
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = fsync(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(draft, path)
	}
	if err != nil {
		// A draft that is left over is removed at the next start.
		return errors.Join(err, removed(os.Remove(draft)))
	}
	return nil
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

// appendAt writes data behind the first size bytes of the file at path, and
// what stands there already goes: it is the rest of a writing that did not
// end.
func appendAt(path string, size int64, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600) // it may be a pipe
	if err != nil {
		return err
	}
	// A copy that somebody put back may be one that others can read.
	err = errors.Join(f.Chmod(0o600), f.Truncate(size))
	if err == nil {
		_, err = f.WriteAt(data, size)
	}
	if err == nil {
		err = fsync(f)
	}
	return errors.Join(err, f.Close())
}

// folderNames are the names in a folder, in no order.
func folderNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

// pathsWith are the files in a folder whose names have that ending, in order;
// none if there is no such folder. The folder's own name can hold anything,
// what is a pattern elsewhere included.
func pathsWith(dir, ending string) (paths []string, err error) {
	names, err := folderNames(dir)
	for _, name := range names {
		if strings.HasSuffix(name, ending) {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	slices.Sort(paths)
	return paths, removed(err)
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
func Damaged(dir string) ([]string, error) {
	var found []string
	for _, sub := range storeDirs {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
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

// storeDirs are all folders of a store, each before those within it.
var storeDirs = []string{".", documentDir, archiveDir, jobDir, logDir}

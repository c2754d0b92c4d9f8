package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// draftSuffix is what half a copy adds to the store's name.
const draftSuffix = formerSuffix + ".new"

// madeBefore finds a copy of the store as it is now, "" if there is none: a
// start made it that died before it marked the store. Half a copy is removed.
func madeBefore(dir string) (string, error) {
	if err := os.RemoveAll(filepath.Clean(dir) + draftSuffix); err != nil {
		return "", err
	}
	copies, err := Copies(dir)
	for _, name := range copies {
		same, err := sameFiles(dir, name)
		if err != nil {
			return "", err
		}
		if same {
			return name, syncDir(filepath.Dir(name)) // its name may not be durable
		}
	}
	return "", err
}

// sameFiles reports whether copy has what copyFiles makes of the store in dir.
func sameFiles(dir, copied string) (bool, error) {
	theirs := 0
	err := filepath.WalkDir(copied, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			theirs++
		}
		return err
	})
	if err != nil {
		return false, err
	}
	ours, same := 0, true
	err = eachFile(dir, func(name string) error {
		if ours++; !same {
			return nil
		}
		same, err = sameFile(filepath.Join(dir, name), filepath.Join(copied, name))
		return err
	})
	return same && ours == theirs, err
}

// sameFile reports whether two files hold the same; one that is missing does
// not.
func sameFile(path, other string) (bool, error) {
	a, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	b, err := os.Stat(other)
	if err != nil || a.Size() != b.Size() {
		return false, removed(err)
	}
	if os.SameFile(a, b) {
		return true, nil // two names, see keepFile
	}
	one, err := os.ReadFile(path)
	two, err2 := os.ReadFile(other)
	return bytes.Equal(one, two), errors.Join(err, err2)
}

// copyBeside copies the files of the store in dir to a folder beside it that
// was not there before: what an earlier change left is never overwritten. The
// copy gets its name only when it is complete and durable.
func copyBeside(dir string) (name string, err error) {
	name = filepath.Clean(dir) + formerSuffix
	draft := filepath.Clean(dir) + draftSuffix
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", err
		}
		name = fmt.Sprintf("%s%s.%d", filepath.Clean(dir), formerSuffix, n)
	}
	if err = copyFiles(dir, draft); err == nil {
		err = os.Rename(draft, name)
	}
	if err != nil {
		// Half a copy must not fill a disk that is full already.
		return "", errors.Join(err, os.RemoveAll(draft))
	}
	return name, syncDir(filepath.Dir(name))
}

// copyFiles makes a durable copy of a store. All of it is written before the
// first fsync, so that the disk can take it in one go.
func copyFiles(dir, to string) error {
	var made []string
	for _, sub := range storeDirs {
		if err := os.Mkdir(filepath.Join(to, sub), 0o700); err != nil {
			return err
		}
	}
	err := eachFile(dir, func(name string) error {
		made = append(made, filepath.Join(to, name))
		return keepFile(filepath.Join(dir, name), filepath.Join(to, name))
	})
	if err != nil {
		return err
	}
	for _, sub := range storeDirs {
		made = append(made, filepath.Join(to, sub))
	}
	for _, path := range made {
		if err := syncDir(path); err != nil { // a file is opened as a folder is
			return err
		}
	}
	return nil
}

// storeDirs are all folders of a store, each before those within it.
var storeDirs = []string{".", documentDir, archiveDir, jobDir, logDir}

// eachFile calls f with the files of a store that a copy has, by their names
// in dir.
func eachFile(dir string, f func(name string) error) error {
	for _, sub := range storeDirs {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || e.Name() == "lock" || strings.HasSuffix(e.Name(), draftEnding) {
				continue
			}
			if err := f(filepath.Join(sub, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepFile makes a file that stays what the one at path is now. JSON files
// are replaced in one piece, never written into, so that a second name is
// enough. Archives, the log and the seen ids grow in place.
func keepFile(path, to string) error {
	if filepath.Ext(path) == ".json" && os.Link(path, to) == nil {
		return nil
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close(), from.Close())
}

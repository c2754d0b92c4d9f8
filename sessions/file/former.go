package file

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"dragoman/sessions"
)

// formerSuffix is what a copy of the store from before a change of its format
// adds to its name.
const formerSuffix = ".before-v2"

// isFormer reports whether dir has the name of a copy.
func isFormer(dir string) bool { return strings.Contains(filepath.Base(dir), formerSuffix) }

// Copies lists the copies of the whole store that changes of its format left
// beside the folder dir. An erasure removes them: they hold everything as it
// was then.
func Copies(dir string) (copies []string, err error) {
	dir = filepath.Clean(dir)
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return nil, fmt.Errorf("file: list the copies: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(dir)+formerSuffix) {
			copies = append(copies, filepath.Join(filepath.Dir(dir), e.Name()))
		}
	}
	return copies, nil
}

// removeCopies removes them and names those that are gone.
func removeCopies(dir string) (gone []string, err error) {
	all, err := Copies(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range all {
		if err := os.RemoveAll(name); err != nil {
			return gone, err
		}
		gone = append(gone, name)
	}
	return gone, syncDir(filepath.Dir(filepath.Clean(dir)))
}

// Erase is part of [sessions.Lifetime]. What [Copies] lists is removed and
// named.
func (s *Store) Erase(ctx context.Context, e sessions.Erasure) (sessions.Erased, error) {
	got, err := s.Store.Erase(ctx, e)
	if err != nil {
		return got, err
	}
	if got.Copies, err = removeCopies(s.disk.dir); err != nil {
		return got, fmt.Errorf("file: erase: it is erased, but traces may be left in the files, do it again: %w", err)
	}
	return got, nil
}

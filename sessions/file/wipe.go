package file

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/channels"
)

// Wipe implements [memory.Disk]: when it returns, no file of the store holds
// what was erased. Files that were set aside are removed for keys that are
// gone; nobody can tell what is in the others, so they are named.
func (d *disk) Wipe(keys []channels.Key) error {
	if err := d.checkpoint(); err != nil {
		return err
	}
	aside, err := Damaged(d.dir)
	if err != nil {
		return err
	}
	for _, name := range aside {
		if !slices.ContainsFunc(keys, func(k channels.Key) bool { return asideOf(name, k) }) {
			d.log.Warn("a damaged file was set aside and may hold erased text; look at it and remove it", "file", name)
			continue
		}
		if err := removed(os.Remove(filepath.Join(d.dir, name))); err != nil {
			return err
		}
	}
	return errors.Join(d.syncDirs(), syncDir(d.dir))
}

// asideOf reports whether name is a document or an archive of k that was set
// aside because it was damaged.
func asideOf(name string, k channels.Key) bool {
	base, _, _ := strings.Cut(filepath.Base(name), corruptEnding)
	return base == fileName(k)+".json" || base == fileName(k)+".jsonl"
}

// removeDamaged removes what was set aside of k. settle syncs the folders.
func (d *disk) removeDamaged(k channels.Key) error {
	aside, err := d.damaged()
	errs := []error{err}
	for _, name := range aside {
		if asideOf(name, k) {
			errs = append(errs, removed(os.Remove(filepath.Join(d.dir, name))))
		}
	}
	return errors.Join(errs...)
}

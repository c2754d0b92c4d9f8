package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"dragoman/sessions"
)

// formerSuffix is what a copy of a store of format 1 adds to its name.
const formerSuffix = ".before-v2"

// keepFormer puts a copy of a store of a former format beside it, before
// anything is written in the new one, and then marks the store as one of the
// new format, so that no start after this one makes another.
func (d *disk) keepFormer() error {
	format, err := d.format()
	switch {
	case err != nil || format == 0 || format == documentFormat:
		return err
	case format > documentFormat:
		return newer(d.dir, format)
	}
	name, err := madeBefore(d.dir)
	if err == nil && name == "" {
		name, err = copyBeside(d.dir)
	}
	if err == nil {
		err = d.markFormat()
	}
	if err != nil {
		return fmt.Errorf("the copy before the change to format %d: %w", documentFormat, err)
	}
	d.log.Info("the store is of a former format; a copy of it as it was is kept", "copy", name, "format", format, "new_format", documentFormat)
	return nil
}

// format is the one that the store was last closed in: that of the common
// file, or else of the index, or else the oldest of a document. 0 is a store
// that has none of them: its log is the same in all formats.
func (d *disk) format() (int, error) {
	for _, name := range []string{commonName, indexName} {
		if n, err := formatOf(filepath.Join(d.dir, name)); err != nil || n > 0 {
			return n, err
		}
	}
	oldest := 0
	for _, sub := range []string{documentDir, jobDir} {
		docs, err := pathsWith(filepath.Join(d.dir, sub), ".json")
		if err != nil {
			return 0, err
		}
		for _, path := range docs {
			n, err := formatOf(path)
			if err != nil {
				return 0, err
			}
			if n > 0 && (oldest == 0 || n < oldest) {
				oldest = n
			}
		}
	}
	return oldest, nil
}

// formatOf is what the file at path says at its top. 0 is one that is not
// there or says nothing, damaged ones among them.
func formatOf(path string) (int, error) {
	data, err := readRegular(path)
	if errors.Is(err, errDamaged) {
		return 0, nil
	}
	if err != nil {
		return 0, removed(err)
	}
	if !json.Valid(data) {
		return 0, nil
	}
	return max(0, formatIn(data)), nil
}

// markFormat writes the common file in the new format. One that is lost or
// damaged is begun anew, as it would be in a moment: without the mark a start
// that dies would leave one copy more.
func (d *disk) markFormat() error {
	c, err := d.readCommon()
	if err != nil {
		return err
	}
	c.Format = documentFormat
	data, err := pretty(c)
	if err != nil {
		return err
	}
	return errors.Join(replace(filepath.Join(d.dir, commonName), data), syncDir(d.dir))
}

// isFormer reports whether dir has the name of a copy, or of half a one.
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

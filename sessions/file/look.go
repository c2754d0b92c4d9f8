package file

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"dragoman/sessions/sqlite"
)

// ErrForeign: the folder holds something else than a store of this package.
var ErrForeign = errors.New("this is not a Dragoman store")

// Look reports whether a store is at dir. It only reads. It returns false and no
// error if dir is missing or empty, or if the first start of a store was cut short
// there. Errors: ErrForeign.
func Look(dir string) (found bool, err error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
	case !info.IsDir():
		err = fmt.Errorf("%w: it is not a folder", ErrForeign)
	default:
		found, err = hasStore(dir)
	}
	if err == nil && !found {
		err = refuseForeign(dir)
	}
	if err != nil {
		return false, fmt.Errorf("file: look into %s: %w", dir, err)
	}
	return found, nil
}

// hasStore looks for files that only this package writes. One is enough, since the
// others may be damaged or lost.
func hasStore(dir string) (bool, error) {
	found, err := sqlite.Look(filepath.Join(dir, rowsName))
	if errors.Is(err, sqlite.ErrForeign) {
		err = fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if found || err != nil {
		return found, err
	}
	var c commonFile
	data, err := os.ReadFile(filepath.Join(dir, commonName))
	if err == nil && json.Unmarshal(data, &c) == nil && c.Format > 0 && (c.Pairings != nil || c.LSN > 0) {
		return true, nil
	}
	segments, err := listFiles(dir, ".jsonl", format2Log)
	for _, path := range segments {
		if digits := strings.TrimSuffix(filepath.Base(path), ".jsonl"); len(digits) == 16 && strings.Trim(digits, "0123456789") == "" {
			return true, nil
		}
	}
	docs, err2 := listFiles(dir, ".json", documentDir, jobDir)
	for _, path := range docs {
		if _, found, err := sniff(path); err == nil && found {
			return true, nil
		}
	}
	return false, errors.Join(err, err2)
}

// refuseForeign refuses a folder with an entry that an empty store does not have.
func refuseForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		foreign := fmt.Errorf("%w: there is %q in it", ErrForeign, e.Name())
		switch e.Name() {
		case documentDir, archiveDir, jobDir, format2Log:
			inside, err := os.ReadDir(filepath.Join(dir, e.Name()))
			if err != nil && !errors.Is(err, fs.ErrNotExist) || len(inside) > 0 {
				return cmp.Or(err, foreign)
			}
		case rowsName + ".new", rowsName + ".new-wal", rowsName + ".new-shm": // an interrupted creation
		case "lock", rowsName + ".lock":
			if info, err := e.Info(); err == nil && (!info.Mode().IsRegular() || info.Size() > 0) {
				return foreign
			}
		default:
			return foreign
		}
	}
	return err
}

// Newer returns a sessions.NewerError if a newer version wrote some of the store at
// dir. It returns nil if this version can use the store, or if there is none. It only
// reads, and only the first bytes of each document, so it suits a store in use and a
// large one. Open also finds a newer document that begins in another way.
func Newer(dir string) error {
	if err := sqlite.Newer(filepath.Join(dir, rowsName)); err != nil {
		return err
	}
	docs, err := listFiles(dir, ".json", documentDir, jobDir)
	for _, path := range append(docs, filepath.Join(dir, commonName)) {
		if err == nil {
			err = refuseNewer(path)
		}
	}
	if err != nil {
		return fmt.Errorf("file: look into %s: %w", dir, err)
	}
	return nil
}

// refuseNewer returns a sessions.NewerError if the document at path is newer.
func refuseNewer(path string) error {
	format, _, err := sniff(path)
	if err == nil && format > documentFormat {
		err = newerError(path, format)
	}
	return ignoreMissing(err)
}

// sniff reads the beginning of a document. It returns the format, 0 if there is
// none, and whether a key follows as in our documents.
func sniff(path string) (format int, ours bool, err error) {
	f, err := openRegular(path)
	if errors.Is(err, errDamaged) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	head := make([]byte, 64)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, false, err
	}
	text, ok := bytes.CutPrefix(bytes.Join(bytes.Fields(head[:n]), nil), []byte(`{"format":`))
	digits, rest, _ := bytes.Cut(text, []byte(","))
	format, err = strconv.Atoi(string(digits))
	if err != nil || !ok {
		return 0, false, nil // damaged, not newer
	}
	return format, bytes.HasPrefix(rest, []byte(`"key":"`)), nil
}

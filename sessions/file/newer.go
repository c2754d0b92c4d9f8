package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"dragoman/sessions/sqlite"
)

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

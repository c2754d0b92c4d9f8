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

// Newer says why this version cannot use the store at dir: a newer one wrote
// some of it. Nil: it can, or nothing is there. It only reads, and of the
// documents no more than their first bytes, so it may be asked about a store in
// use and about a large one. Reading the store finds what is written in another
// way than the versions so far do.
func Newer(dir string) error {
	if err := sqlite.Newer(filepath.Join(dir, rowsName)); err != nil {
		return err
	}
	docs, err := pathsWith(dir, ".json", documentDir, jobDir)
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

// refuseNewer is a [sessions.NewerError] if the document at path is one.
func refuseNewer(path string) error {
	format, _, err := headOf(path)
	if err == nil && format > documentFormat {
		err = newer(path, format)
	}
	return removed(err)
}

// headOf is what a document says in its first line: its format, 0 if it does
// not, and whether it goes on as our documents do.
func headOf(path string) (format int, ours bool, err error) {
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
		return 0, false, nil // damaged, which is no matter of versions
	}
	return format, bytes.HasPrefix(rest, []byte(`"key":"`)), nil
}

// Package backup is the form of a backup: one tar file, packed by gzip, with
// the records of a store and the files beside it.
//
//	dragoman-backup.json   which form this is, who wrote it and when
//	records/000001.jsonl   the store's records, one a line, in the order of its dump
//	state/…, workspace/…   files
//	end.json               how much came before
//
// The promise: [Read] returns nil only for a backup that is whole. One that was
// cut off has no end, one that was damaged fails gzip's checksum, and names that
// lead out of their folder are refused.
//
// The package starts no goroutines.
package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"dragoman/sessions"
)

// Format is the newest form that this package reads and the one it writes.
const Format = 1

const (
	headName, endName = "dragoman-backup.json", "end.json"
	recordsDir        = "records"
	chunkBytes        = 4 << 20
)

// Head is the beginning of a backup.
type Head struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the program
	Created time.Time `json:"created"`
}

// End is how much a backup holds.
type End struct {
	Records       int   `json:"records"`
	Conversations int   `json:"conversations"`
	Messages      int   `json:"messages"`
	Files         int   `json:"files"`
	Bytes         int64 `json:"bytes"` // of the files
}

func (e *End) count(r sessions.Record) {
	e.Records++
	if r.Conversation != nil && len(r.Conversation.Generations) > 0 {
		e.Conversations++
	}
	if r.Messages != nil {
		e.Messages += len(r.Messages.Messages)
	}
}

// Writer writes a backup. It is for one goroutine.
type Writer struct {
	zip     *gzip.Writer
	tar     *tar.Writer
	created time.Time
	end     End
	chunks  int
	// Tell, if not nil, is called often with how much was written.
	Tell func(End)
}

// NewWriter begins a backup on w.
func NewWriter(w io.Writer, version string, now time.Time) (*Writer, error) {
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	b := &Writer{zip: zip, tar: tar.NewWriter(zip), created: now}
	return b, b.json(headName, Head{Format, version, now.UTC()})
}

func (w *Writer) json(name string, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = w.bytes(name, append(text, '\n'))
	}
	return err
}

func (w *Writer) bytes(name string, text []byte) error {
	err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(text)), ModTime: w.created})
	if err == nil {
		_, err = w.tar.Write(text)
	}
	if err != nil {
		return fmt.Errorf("backup: write %s: %w", name, err)
	}
	return nil
}

func (w *Writer) told() {
	if w.Tell != nil {
		w.Tell(w.end)
	}
}

// Records writes all that dump emits.
func (w *Writer) Records(dump func(emit func(sessions.Record) error) error) error {
	var chunk bytes.Buffer
	enc := json.NewEncoder(&chunk)
	enc.SetEscapeHTML(false)
	flush := func() error {
		w.chunks++
		err := w.bytes(fmt.Sprintf("%s/%06d.jsonl", recordsDir, w.chunks), chunk.Bytes())
		chunk.Reset()
		w.told()
		return err
	}
	err := dump(func(r sessions.Record) error {
		w.end.count(r)
		if err := enc.Encode(r); err != nil || chunk.Len() < chunkBytes {
			return err
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	return err
}

// Tree writes the file or folder at dir, with all below it, under name. What is
// not there is not written, and neither is what skip names, relative to dir,
// nor anything that is no file, folder or link.
func (w *Writer) Tree(ctx context.Context, name, dir string, skip func(rel string) bool) error {
	return filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, at) // it is below
		switch {
		case err != nil:
			err = fmt.Errorf("backup: read: %w", err)
		case ctx.Err() != nil:
			return ctx.Err()
		case skip != nil && skip(rel) && d.IsDir():
			return fs.SkipDir
		case skip != nil && skip(rel):
			return nil
		default:
			err = w.entry(path.Join(name, filepath.ToSlash(rel)), at, d)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went meanwhile
		}
		return err
	})
}

// entry writes a file as long as it is now, a folder or a link.
func (w *Writer) entry(name, at string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return fmt.Errorf("backup: read: %w", err)
	}
	h := &tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}
	switch d.Type() {
	case 0:
		f, err := os.Open(at)
		if err != nil {
			return fmt.Errorf("backup: read: %w", err)
		}
		defer f.Close()
		if info, err = f.Stat(); err != nil {
			return fmt.Errorf("backup: read: %w", err)
		}
		return w.File(name, info.Mode().Perm(), info.ModTime(), info.Size(), f)
	case fs.ModeSymlink:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = os.Readlink(at); err != nil {
			return fmt.Errorf("backup: read: %w", err)
		}
	case fs.ModeDir:
	default:
		return nil
	}
	if err := w.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("backup: write %s: %w", name, err)
	}
	return nil
}

// File writes a file of that size, which from gives.
func (w *Writer) File(name string, mode fs.FileMode, at time.Time, size int64, from io.Reader) error {
	err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(mode), Size: size, ModTime: at})
	if err == nil {
		_, err = io.CopyN(w.tar, from, size)
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it became shorter while it was read; try again")
	}
	if err != nil {
		return fmt.Errorf("backup: write %s: %w", name, err)
	}
	w.end.Files++
	w.end.Bytes += size
	w.told()
	return nil
}

// Close writes the end. It does not close what the backup is written to.
func (w *Writer) Close() (End, error) {
	err := w.json(endName, w.end)
	if err = errors.Join(err, w.tar.Close(), w.zip.Close()); err != nil {
		return w.end, fmt.Errorf("backup: write the end: %w", err)
	}
	return w.end, nil
}

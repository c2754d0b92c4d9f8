// Package backup is the format of a backup: a tar file, compressed by gzip, with the
// records of a store and other files.
//
//	dragoman-backup.json   format, version of the program, and time
//	records/000001.jsonl   the store's records, one a line, in the order of its dump
//	state/…, workspace/…   files
//	end.json               how much the backup has
//
// The promise: [Read] returns nil only for a complete backup. One that was cut off has
// no end.json, and a damaged one fails gzip's checksum. Names that lead out of their
// folder are refused.
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

// format is the format that this package writes, and the newest one that it reads.
const format = 1

const (
	headName, endName = "dragoman-backup.json", "end.json"
	recordsDir        = "records"
	chunkBytes        = 4 << 20
)

// Head is the first entry of a backup.
type Head struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the program
	Created time.Time `json:"created"`
}

// End is the last entry of a backup: how much it has.
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
	// Tell, if not nil, is called often with how much has been written.
	Tell func(End)
}

// NewWriter starts a backup on w.
func NewWriter(w io.Writer, version string, now time.Time) (*Writer, error) {
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	b := &Writer{zip: zip, tar: tar.NewWriter(zip), created: now}
	return b, b.json(headName, Head{format, version, now.UTC()})
}

func (w *Writer) json(name string, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = w.bytes(name, append(text, '\n'))
	}
	return err
}

func (w *Writer) bytes(name string, text []byte) error {
	return w.write(name, 0o600, w.created, int64(len(text)), bytes.NewReader(text))
}

func (w *Writer) progress() {
	if w.Tell != nil {
		w.Tell(w.end)
	}
}

// Records writes the records that dump emits.
func (w *Writer) Records(dump func(emit func(sessions.Record) error) error) error {
	var chunk bytes.Buffer
	enc := json.NewEncoder(&chunk)
	enc.SetEscapeHTML(false)
	flush := func() error {
		w.chunks++
		err := w.bytes(fmt.Sprintf("%s/%06d.jsonl", recordsDir, w.chunks), chunk.Bytes())
		chunk.Reset()
		w.progress()
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

// Tree writes the file or folder at dir, with everything below it, under name. If dir
// does not exist it writes nothing. It leaves out the folder skip in dir, and anything
// that is not a file, folder or link.
func (w *Writer) Tree(ctx context.Context, name, dir, skip string) error {
	return filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, at) // it is below
		switch {
		case err != nil:
			err = fmt.Errorf("backup: read: %w", err)
		case ctx.Err() != nil:
			return ctx.Err()
		case rel == skip && d.IsDir():
			return fs.SkipDir
		default:
			err = w.entry(path.Join(name, filepath.ToSlash(rel)), at, d)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // deleted meanwhile
		}
		return err
	})
}

// entry writes a folder, a link, or a file with its present size.
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

// File writes a file of that size from a reader.
func (w *Writer) File(name string, mode fs.FileMode, at time.Time, size int64, from io.Reader) error {
	if err := w.write(name, mode, at, size, from); err != nil {
		return err
	}
	w.end.Files++
	w.end.Bytes += size
	w.progress()
	return nil
}

func (w *Writer) write(name string, mode fs.FileMode, at time.Time, size int64, from io.Reader) error {
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
	return nil
}

// Close writes the end. It does not close the underlying writer.
func (w *Writer) Close() (End, error) {
	err := w.json(endName, w.end)
	if err = errors.Join(err, w.tar.Close(), w.zip.Close()); err != nil {
		return w.end, fmt.Errorf("backup: write the end: %w", err)
	}
	return w.end, nil
}

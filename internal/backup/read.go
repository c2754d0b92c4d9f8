package backup

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"dragoman/sessions"
)

// Errors of [Read].
var (
	// ErrForeign: another kind of file.
	ErrForeign = errors.New("this is not a Dragoman backup")
	// ErrDamaged: the backup was cut off or changed.
	ErrDamaged = errors.New("the backup is damaged or was cut off")
)

// Target receives the contents of a backup.
type Target struct {
	// Record, if not nil, gets the store's records, in order.
	Record func(sessions.Record) error
	// Roots are folders by the first part of a name. Files without a root are read
	// and discarded.
	Roots map[string]*os.Root
	// Skipped, if not nil, gets the name of everything that is neither a file, a folder
	// nor a symbolic link, and what it is. No backup of ours has any.
	Skipped func(name, what string)
}

// skipped are the kinds of entries that are not restored.
var skipped = map[byte]string{
	tar.TypeLink: "a hard link", tar.TypeChar: "a device", tar.TypeBlock: "a device", tar.TypeFifo: "a pipe",
}

// Read reads a backup to its end and writes its contents to t. Trust them only when
// Read returns nil. Errors: ErrForeign, ErrDamaged.
func Read(from io.Reader, t Target) (Head, End, error) {
	zip, err := gzip.NewReader(from)
	if err != nil {
		return Head{}, End{}, fmt.Errorf("backup: %w", ErrForeign)
	}
	r := &reader{tar: tar.NewReader(zip), to: t}
	if err := r.head(); err != nil {
		return r.first, r.seen, fmt.Errorf("backup: %w", err)
	}
	for !r.ended && err == nil {
		err = r.next()
	}
	if err == nil {
		// The checksum comes last.
		if _, err = r.tar.Next(); err == io.EOF {
			_, err = io.Copy(io.Discard, zip)
		} else if err == nil {
			err = ErrDamaged
		}
	}
	var write *writeError
	if err != nil && !errors.As(err, &write) && !errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err != nil {
		return r.first, r.seen, fmt.Errorf("backup: %w", err)
	}
	return r.first, r.seen, nil
}

// writeError is a failure of the target.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

// reader restores one backup, entry by entry. It counts what it saw, because the
// last entry says how much there should have been.
type reader struct {
	tar   *tar.Reader
	to    Target
	first Head
	seen  End
	ended bool
}

func (r *reader) head() error {
	h, err := r.tar.Next()
	if err != nil || h.Name != headName {
		return ErrForeign
	}
	if err := r.decode(&r.first); err != nil {
		return ErrDamaged
	}
	if r.first.Format > format {
		return fmt.Errorf("it was written by version %s, which is newer than this one: use that version", r.first.Version)
	}
	return nil
}

func (r *reader) decode(v any) error { return json.NewDecoder(io.LimitReader(r.tar, 1<<20)).Decode(v) }

func (r *reader) next() error {
	h, err := r.tar.Next()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	top, rest, _ := strings.Cut(path.Clean(h.Name), "/")
	switch {
	case h.Name == endName:
		var want End
		if err := r.decode(&want); err != nil || want != r.seen {
			return ErrDamaged
		}
		r.ended = true
		return nil
	case !filepath.IsLocal(h.Name):
		return fmt.Errorf("%w: it has a file called %q", ErrDamaged, h.Name)
	case top == recordsDir:
		return r.records()
	}
	if h.Typeflag == tar.TypeReg {
		r.seen.Files++
		r.seen.Bytes += h.Size
	}
	what, skip := skipped[h.Typeflag]
	if skip {
		if r.to.Skipped != nil {
			r.to.Skipped(h.Name, what)
		}
		return nil
	}
	root := r.to.Roots[top]
	if root == nil || rest == "" && h.Typeflag == tar.TypeDir {
		return nil
	}
	return r.put(root, filepath.FromSlash(rest), h)
}

func (r *reader) records() error {
	dec := json.NewDecoder(r.tar)
	for {
		var rec sessions.Record
		if err := dec.Decode(&rec); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		r.seen.count(rec)
		if r.to.Record != nil {
			if err := r.to.Record(rec); err != nil {
				return &writeError{err}
			}
		}
	}
}

// put creates the file, folder or link of h below root. Its name cannot lead out of root.
func (r *reader) put(root *os.Root, name string, h *tar.Header) error {
	mode := fs.FileMode(h.Mode).Perm()
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return &writeError{err}
	}
	var err error
	switch h.Typeflag {
	case tar.TypeDir:
		err = root.MkdirAll(name, mode|0o700)
	case tar.TypeSymlink:
		err = root.Symlink(h.Linkname, name)
	case tar.TypeReg:
		return r.file(root, name, mode, h)
	}
	if err != nil {
		return &writeError{err}
	}
	return nil
}

func (r *reader) file(root *os.Root, name string, mode fs.FileMode, h *tar.Header) error {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode|0o600)
	if err != nil {
		return &writeError{err}
	}
	_, err = io.Copy(f, r.tar)
	if own := (*fs.PathError)(nil); err != nil && !(errors.As(err, &own) && own.Op == "write") { // reading failed
		return errors.Join(err, f.Close())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Chtimes(name, h.ModTime, h.ModTime)
	}
	if err != nil {
		return &writeError{err}
	}
	return nil
}

// Package media keeps the files that came with messages, one folder for each
// conversation. They are in a directory, which nodes may share, or in a PostgreSQL
// database, which keeps their contents itself or in a bucket.
//
// The promise: a file is complete or absent, also after a kill -9 or a power cut. It is
// written without its name, made durable and then named. The name is computed from the
// message that brought the file, so a file is fetched once, however often its turn begins
// again. No name that a sender chose becomes part of a path, and an [os.Root] keeps every
// access within the directory.
//
// Failures: a missing file must not stop a conversation. [Store.Keep] returns the reason
// in a few words, for the model and the person. It returns an error only when its
// context ended, because then the turn ends too. [Open] and [Store.Tidy] remove what a
// crash leaves.
//
// The package starts no goroutines. A Store is safe for concurrent use. One process at a
// time may use a directory, unless it is shared.
package media

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
)

// Options bound what a store keeps. The zero value works.
type Options struct {
	// MaxBytes is the size of the largest file that is kept; 20 MiB if 0.
	MaxBytes int64
	// MaxTotal bounds the size of all files together; 0: no limit. Keep and Put refuse
	// files that would exceed it.
	MaxTotal int64
	// Timeout bounds one attempt to fetch a file; 30 s if 0.
	Timeout time.Duration
	// Shared: other nodes use the directory, too.
	Shared bool
	Logger *slog.Logger // nil: silent
}

// Store keeps files. Make it with [Open] or [OpenPostgres].
type Store struct {
	files backend
	o     Options
	quota quota
	lent  lent
}

// Open opens a store in the directory dir, which it creates if it is missing. It removes
// half-written files. The caller closes the store.
func Open(dir string, o Options) (*Store, error) {
	s, err := openFolder(dir, o.Shared)
	if err != nil {
		return nil, err
	}
	return newStore(s, o), nil
}

func newStore(files backend, o Options) *Store {
	o.MaxBytes = cmp.Or(o.MaxBytes, 20<<20)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Store{files: files, o: o, quota: quota{limit: o.MaxTotal, shared: o.Shared}}
}

// Close closes the directory or database.
func (s *Store) Close() error {
	if err := s.files.close(); err != nil {
		return fmt.Errorf("media: close: %w", err)
	}
	return nil
}

// Open opens a file by its name, a [channels.Attachment.File]. It returns
// [fs.ErrNotExist] if there is no such file.
func (s *Store) Open(file string) (io.ReadCloser, error) {
	if f, found := s.lent.open(file); found {
		return f, nil
	}
	if !validName(file) {
		return nil, fmt.Errorf("media: open: %w", fs.ErrNotExist)
	}
	f, _, err := s.files.open(file)
	if errors.Is(err, fs.ErrNotExist) {
		// Join may have moved it. The last part of the name is unique.
		if names, listed := s.files.names(file); listed == nil && len(names) > 0 {
			f, _, err = s.files.open(names[0])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("media: open: %w", withoutPath(err))
	}
	return f, nil
}

func (s *Store) size(file string) (int64, error) {
	f, size, err := s.files.open(file)
	if err != nil {
		return 0, err
	}
	return size, f.Close()
}

// Remove removes all files of k's conversation. Having none is no error.
func (s *Store) Remove(k channels.Key) error {
	if k.IsZero() {
		return nil
	}
	defer s.quota.invalidate()
	if err := s.files.drop(k.FileName()); err != nil {
		return fmt.Errorf("media: remove the files of %s: %w", k, withoutPath(err))
	}
	return nil
}

// Files returns the names of all files of k's conversation, sorted.
func (s *Store) Files(k channels.Key) ([]string, error) {
	list, err := s.files.list(k.FileName())
	if errors.Is(err, fs.ErrNotExist) || k.IsZero() {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("media: list the files of %s: %w", k, withoutPath(err))
	}
	var names []string
	for _, e := range list {
		names = append(names, k.FileName()+"/"+e.name)
	}
	slices.Sort(names)
	return names, nil
}

// RemoveFiles removes files and returns those that it removed. It skips invalid names and
// missing files, and goes on after an error.
func (s *Store) RemoveFiles(files []string) (removed []string, err error) {
	defer s.quota.invalidate()
	var errs []error
	for _, file := range files {
		if !validName(file) {
			continue
		}
		names, err := s.files.names(file)
		if err == nil && len(names) > 0 {
			names, err = s.files.unlink(names...)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("media: remove a file: %w", withoutPath(err)))
		}
		if len(names) > 0 {
			removed = append(removed, names[0])
		}
	}
	return removed, errors.Join(errs...)
}

// Name returns the name of attachment i of m. It is the same in each attempt at a turn.
func Name(m channels.Inbound, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", m.Key.Channel(), m.ID, i))
	return m.Key.FileName() + "/" + encoding.EncodeToString(sum[:10]) + extension(m.Attachments[i].Type)
}

// encoding makes names that differ even if the file system ignores case, and that
// are few tokens for a model.
var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// nameLength is 10 bytes in base32.
const nameLength = 16

// validName reports whether [Name] can have made file.
func validName(file string) bool {
	folder, name, found := strings.Cut(file, "/")
	stem, ext, dotted := strings.Cut(name, ".")
	return found && dotted && strings.Contains(folder, "_") && folder[0] != '.' &&
		len(stem) == nameLength && alphanumeric(stem) && ext != "" && len(ext) <= 4 && alphanumeric(ext)
}

func alphanumeric(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) < 0
}

// extensions are for people who look into the folder; this package does not trust them.
// It does not use the system's list, which differs between machines, while the name of a
// file must not.
var extensions = map[string]string{
	"image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp", "image/heic": ".heic",
	"audio/ogg": ".ogg", "audio/mpeg": ".mp3", "audio/mp4": ".m4a", "audio/aac": ".aac", "audio/wav": ".wav", "audio/webm": ".webm",
	"video/mp4": ".mp4", "video/webm": ".webm", "video/quicktime": ".mov",
	"application/pdf": ".pdf", "application/json": ".json", "application/xml": ".xml", "application/zip": ".zip",
	"text/plain": ".txt", "text/markdown": ".md", "text/csv": ".csv", "text/html": ".html", "text/xml": ".xml",
}

func extension(mimeType string) string {
	mimeType, _, _ = strings.Cut(mimeType, ";")
	if ext, known := extensions[strings.ToLower(strings.TrimSpace(mimeType))]; known {
		return ext
	}
	return ".bin"
}

// withoutPath removes the path from an error: a key's chat can be a phone number.
func withoutPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}

// ReadPart reads a file of k's conversation into p, from off on. It returns how much it
// read, less than p at the end of the file, and the size of the file. It ignores the
// folder in file, so that no file of another conversation can be read, and returns
// [fs.ErrNotExist] if k's conversation has no such file.
func (s *Store) ReadPart(k channels.Key, file string, p []byte, off int64) (n int, size int64, err error) {
	file = k.FileName() + "/" + path.Base(file)
	if k.IsZero() || !validName(file) {
		return 0, 0, fmt.Errorf("media: read: %w", fs.ErrNotExist)
	}
	f, size, err := s.files.open(file)
	if err != nil {
		return 0, 0, fmt.Errorf("media: read: %w", withoutPath(err))
	}
	n, err = f.ReadAt(p, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, 0, fmt.Errorf("media: read: %w", withoutPath(err))
	}
	return n, size, nil
}

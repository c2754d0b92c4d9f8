// Package media keeps the files that came with messages, one folder for each
// conversation: below a directory, which nodes may share, or in a PostgreSQL
// database, which keeps their contents itself or in a bucket.
//
// The promise: a file is there whole or not at all, also after a kill -9 or a
// power cut: it is written without its name, made durable and then
// named. Its name follows from the message that brought it, so the same
// file is fetched once, however often its turn begins again. No name that a
// sender chose ever becomes part of a path, and everything in a directory is opened through
// an [os.Root], so that nothing outside of it can be reached.
//
// Failure: a file that cannot be had is no reason to stop a conversation.
// [Store.Keep] then says why in a few words, for the model and the person. It
// returns an error only when its context ended, because then the turn ends
// too. What a crash leaves behind is removed by [Open], or by [Store.Tidy].
//
// The package starts no goroutines. A Store is safe for concurrent use; one
// process uses a directory at a time, unless it is shared.
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
	// MaxTotal is how much all files may take together; 0: no limit. Further
	// ones are then not fetched.
	MaxTotal int64
	// Timeout bounds one attempt to fetch a file; 30 s if 0.
	Timeout time.Duration
	// Shared: other nodes use the directory, too.
	Shared bool
	Logger *slog.Logger // nil: silent
}

// Store keeps files. Make it with [Open] or [OpenRows].
type Store struct {
	shelf shelf
	o     Options
	room  room
}

// Open opens a store in a directory. It makes dir if it is missing and removes
// what a crash left half written. The caller closes the store.
func Open(dir string, o Options) (*Store, error) {
	s, err := openFolder(dir, o.Shared)
	if err != nil {
		return nil, err
	}
	return newStore(s, o), nil
}

func newStore(s shelf, o Options) *Store {
	o.MaxBytes = cmp.Or(o.MaxBytes, 20<<20)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Store{shelf: s, o: o, room: room{most: o.MaxTotal, shared: o.Shared}}
}

// Close lets go of the directory or database.
func (s *Store) Close() error {
	if err := s.shelf.close(); err != nil {
		return fmt.Errorf("media: close: %w", err)
	}
	return nil
}

// Open opens a kept file by its name ([channels.Attachment.File]). A file that
// is not there, or no name of ours, is [fs.ErrNotExist].
func (s *Store) Open(file string) (io.ReadCloser, error) {
	if !ours(file) {
		return nil, fmt.Errorf("media: open: %w", fs.ErrNotExist)
	}
	f, _, err := s.shelf.open(file)
	if errors.Is(err, fs.ErrNotExist) {
		// Join may have moved it. The last part of a name is a hash that no
		// other file has.
		if names, listed := s.shelf.names(file); listed == nil && len(names) > 0 {
			f, _, err = s.shelf.open(names[0])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("media: open: %w", bare(err))
	}
	return f, nil
}

func (s *Store) size(file string) (int64, error) {
	f, size, err := s.shelf.open(file)
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
	defer s.room.forget()
	if err := s.shelf.drop(k.FileName()); err != nil {
		return fmt.Errorf("media: remove the files of %s: %w", k, bare(err))
	}
	return nil
}

// Files names all files of k's conversation, sorted.
func (s *Store) Files(k channels.Key) ([]string, error) {
	list, err := s.shelf.list(k.FileName())
	if errors.Is(err, fs.ErrNotExist) || k.IsZero() {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("media: list the files of %s: %w", k, bare(err))
	}
	var names []string
	for _, e := range list {
		names = append(names, k.FileName()+"/"+e.name)
	}
	slices.Sort(names)
	return names, nil
}

// RemoveFiles removes these files and returns which. Names that are not ours,
// and files that are gone already, are passed over; all of them are tried.
func (s *Store) RemoveFiles(files []string) (removed []string, err error) {
	defer s.room.forget()
	var errs []error
	for _, file := range files {
		if !ours(file) {
			continue
		}
		names, err := s.shelf.names(file)
		if err == nil && len(names) > 0 {
			names, err = s.shelf.unlink(names...)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("media: remove a file: %w", bare(err)))
		}
		if len(names) > 0 {
			removed = append(removed, names[0])
		}
	}
	return removed, errors.Join(errs...)
}

// Name is the file of attachment i of m. It depends on nothing that may change
// between two attempts at the same turn.
func Name(m channels.Inbound, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", m.Key.Channel(), m.ID, i))
	return m.Key.FileName() + "/" + encoding.EncodeToString(sum[:10]) + extension(m.Attachments[i].Type)
}

// encoding makes names that stay what they are where case does not count, and
// that are few tokens for a model.
var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// nameLength is 10 bytes in base32.
const nameLength = 16

// ours reports whether file can have been made by [Name].
func ours(file string) bool {
	folder, name, found := strings.Cut(file, "/")
	stem, ext, dotted := strings.Cut(name, ".")
	return found && dotted && strings.Contains(folder, "_") && folder[0] != '.' &&
		len(stem) == nameLength && plain(stem) && ext != "" && len(ext) <= 4 && plain(ext)
}

func plain(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) < 0
}

// extensions are for people who look into the folder; nothing here trusts
// them. The list is our own because the system's differs between machines and
// the name of a file must not.
var extensions = map[string]string{
	"image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp", "image/heic": ".heic",
	"audio/ogg": ".ogg", "audio/mpeg": ".mp3", "audio/mp4": ".m4a", "audio/aac": ".aac", "audio/wav": ".wav",
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

// bare takes the path out of an error: a key's chat can be a phone number.
func bare(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// ReadPart reads a part of a file of k's conversation, from off on, and
// returns how much it read and how large the file is. It reads what is there
// up to the end, without an error. The folder in file does not count: files
// of other conversations cannot be named. [fs.ErrNotExist] says that k's has
// no such file.
func (s *Store) ReadPart(k channels.Key, file string, p []byte, off int64) (n int, size int64, err error) {
	file = k.FileName() + "/" + path.Base(file)
	if k.IsZero() || !ours(file) {
		return 0, 0, fmt.Errorf("media: read: %w", fs.ErrNotExist)
	}
	f, size, err := s.shelf.open(file)
	if err != nil {
		return 0, 0, fmt.Errorf("media: read: %w", bare(err))
	}
	n, err = f.ReadAt(p, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, 0, fmt.Errorf("media: read: %w", bare(err))
	}
	return n, size, nil
}

package file

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"dragoman/sessions/rows"
	"dragoman/sessions/sqlite"
)

const (
	// settlers is how many documents are written at once: an fsync waits for the
	// disk most of the time.
	settlers = 4
	// settleMost is how many are written of one moment of the rows, and then noted
	// in one commit.
	settleMost = 256
)

// settle writes the documents of keys that changed since theirs were written, and
// says how many those were. It goes on with the others when one fails.
func (b *backend) settle(ctx context.Context) (n int, err error) {
	b.settling.Lock()
	defer b.settling.Unlock()
	return b.settleLocked(ctx)
}

// settleLocked is settle for a caller who holds settling.
func (b *backend) settleLocked(ctx context.Context) (n int, err error) {
	stale, err := b.Documents(ctx, true)
	errs := []error{err}
	for part := range slices.Chunk(stale, settleMost) {
		if ctx.Err() == nil {
			errs = append(errs, b.settlePart(ctx, part))
		}
	}
	return len(stale), errors.Join(append(errs, ctx.Err())...)
}

// settlePart reads one key after the other, as all of them were at one moment,
// and has their files written side by side. Then it notes which are.
func (b *backend) settlePart(ctx context.Context, part []sqlite.Document) error {
	var mu sync.Mutex
	var errs []error
	var done []sqlite.Document
	note := func(doc sqlite.Document, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			done = append(done, doc)
		}
		errs = append(errs, err)
	}
	// One look into the folders does for all that was deleted.
	aside := sync.OnceValues(func() ([]string, error) { return Damaged(b.dir) })
	files := make(chan filesOf) // no buffer: the workers take what they can do
	var workers sync.WaitGroup
	for range min(settlers, len(part)) {
		workers.Go(func() {
			for f := range files {
				note(b.finish(f, aside))
			}
		})
	}
	err := b.Snapshot(ctx, func(r rows.Reader) error {
		for _, doc := range part {
			if ctx.Err() != nil {
				break
			}
			f, err := b.gather(context.WithoutCancel(ctx), r, doc)
			if err != nil {
				note(doc, err)
				continue
			}
			files <- f
		}
		return nil
	})
	close(files)
	workers.Wait()
	dirs := map[string]bool{}
	for _, doc := range part {
		dirs[filepath.Dir(b.documentPath(doc.Key))] = true
		dirs[filepath.Dir(b.archivePath(doc.Key))] = true
	}
	if synced := syncDirs(slices.Collect(maps.Keys(dirs))...); synced != nil || len(done) == 0 {
		return errors.Join(append(errs, err, synced)...)
	}
	return errors.Join(append(errs, err, b.Written(context.WithoutCancel(ctx), done))...)
}

// filesOf are the files of a key on their way to the disk.
type filesOf struct {
	sqlite.Document
	archive *os.File // written and not durable; nil: it stays as it is
	data    []byte   // the document; nil: the key is gone
}

// gather reads a key and writes to its archive what that does not have.
func (b *backend) gather(ctx context.Context, r rows.Reader, doc sqlite.Document) (filesOf, error) {
	f := filesOf{Document: doc}
	if doc.Key.IsZero() {
		c, err := readCommon(ctx, r)
		if err == nil {
			f.data, err = json.Marshal(c)
		}
		f.data = indented(f.data)
		return f, err
	}
	h, c, err := readKey(ctx, r, doc.Key)
	if err == nil && h.Key.IsZero() {
		f.LastSeq, f.Bytes = 0, 0
		return f, nil
	}
	if err != nil {
		return f, err
	}
	if f.data, err = newDocument(h, c).encode(); err == nil {
		err = b.extend(ctx, r, &f)
	}
	return f, err
}

// extend writes new messages to the archive, or all of them to a new one.
func (b *backend) extend(ctx context.Context, r rows.Reader, f *filesOf) error {
	if f.Whole > f.Document.Written {
		f.Bytes = 0
	}
	open := func() (*os.File, error) { return openAt(b.archivePath(f.Key), f.Bytes) }
	if f.Bytes == 0 {
		f.LastSeq = 0
		open = func() (*os.File, error) { return draft(b.archivePath(f.Key)) }
	}
	out, seq, end, err := writeLines(open, r.Messages(ctx, f.Key, rows.Said{After: f.LastSeq}))
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.Bytes > 0: // somebody took it away
		f.Bytes = 0
		return b.extend(ctx, r, f)
	case err != nil && out != nil:
		return errors.Join(err, out.Close())
	case out != nil:
		f.archive, f.LastSeq, f.Bytes = out, seq, end
	}
	return err
}

// finish makes the files of a key durable but for their names: the archive first,
// then the document.
func (b *backend) finish(f filesOf, aside func() ([]string, error)) (sqlite.Document, error) {
	path, archive := b.documentPath(f.Key), b.archivePath(f.Key)
	var err error
	switch {
	case f.archive == nil:
	case f.archive.Name() == archive:
		err = errors.Join(fsync(f.archive), f.archive.Close())
	default:
		_, err = replace(archive, f.archive)
	}
	if f.Bytes == 0 && !f.Key.IsZero() {
		err = removed(os.Remove(archive))
	}
	if err == nil && f.Deleted > f.Document.Written {
		err = b.removeAside(f.Key, aside)
	}
	if err != nil {
		return f.Document, err
	}
	f.Size, f.Modified = 0, 0
	if f.data == nil {
		return f.Document, removed(os.Remove(path))
	}
	out, err := draft(path)
	if err != nil {
		return f.Document, err
	}
	if _, err = out.Write(f.data); err != nil {
		return f.Document, errors.Join(err, out.Close())
	}
	info, err := replace(path, out)
	if err == nil {
		f.Size, f.Modified = info.Size(), info.ModTime().UnixNano()
	}
	return f.Document, err
}

// syncDirs makes the names in directories durable.
func syncDirs(dirs ...string) error {
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, syncDir(dir))
	}
	return errors.Join(errs...)
}

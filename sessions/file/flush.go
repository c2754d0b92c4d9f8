package file

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"dragoman/sessions/rows"
	"dragoman/sessions/sqlite"
)

const (
	// flushWorkers is how many documents are written at once. An fsync mostly waits
	// for the disk.
	flushWorkers = 4
	// flushBatch is how many keys are read in one snapshot and noted in one commit.
	flushBatch = 256
)

// flush writes the documents of all keys that changed since theirs were written, and
// returns how many those are. If one fails, it goes on with the others.
func (b *backend) flush(ctx context.Context) (n int, err error) {
	b.flushing.Lock()
	defer b.flushing.Unlock()
	return b.flushLocked(ctx)
}

// flushLocked is flush for a caller who holds flushing.
func (b *backend) flushLocked(ctx context.Context) (n int, err error) {
	stale, err := b.Documents(ctx, true)
	errs := []error{err}
	for batch := range slices.Chunk(stale, flushBatch) {
		if ctx.Err() == nil {
			errs = append(errs, b.flushKeys(ctx, batch))
		}
	}
	return len(stale), errors.Join(append(errs, ctx.Err())...)
}

// flushKeys reads the keys of a batch one after the other from one snapshot, has
// workers write their files, and notes which are written.
func (b *backend) flushKeys(ctx context.Context, batch []sqlite.Document) error {
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
	// One listing serves all deleted keys.
	damaged := sync.OnceValues(func() ([]string, error) { return Damaged(b.dir) })
	files := make(chan keyFiles) // unbuffered, so that few documents are in memory
	var workers sync.WaitGroup
	for range min(flushWorkers, len(batch)) {
		workers.Go(func() {
			for f := range files {
				note(b.write(f, damaged))
			}
		})
	}
	err := b.Snapshot(ctx, func(r rows.Reader) error {
		for _, doc := range batch {
			if ctx.Err() != nil {
				break
			}
			f, err := b.prepare(context.WithoutCancel(ctx), r, doc)
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
	errs = append(errs, err)
	dirs := map[string]bool{}
	for _, doc := range batch {
		dirs[filepath.Dir(b.documentPath(doc.Key))] = true
		dirs[filepath.Dir(b.archivePath(doc.Key))] = true
	}
	err = nil
	for dir := range dirs {
		err = errors.Join(err, syncDir(dir))
	}
	if err == nil && len(done) > 0 {
		err = b.Written(context.WithoutCancel(ctx), done)
	}
	return errors.Join(append(errs, err)...)
}

// keyFiles is the content to write for a key.
type keyFiles struct {
	sqlite.Document
	archive *os.File // written, not yet durable; nil: unchanged
	data    []byte   // of the document; nil: the key is gone
}

// prepare encodes the document of a key and appends new messages to its archive.
func (b *backend) prepare(ctx context.Context, r rows.Reader, doc sqlite.Document) (keyFiles, error) {
	f := keyFiles{Document: doc}
	if doc.Key.IsZero() {
		c, err := readCommon(ctx, r)
		if err == nil {
			f.data, err = json.Marshal(c)
		}
		f.data = indent(f.data)
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
		err = b.appendArchive(ctx, r, &f)
	}
	return f, err
}

// appendArchive appends new messages to the archive, or all of them to a new one.
func (b *backend) appendArchive(ctx context.Context, r rows.Reader, f *keyFiles) error {
	if f.Whole > f.Written {
		f.Bytes = 0
	}
	open := func() (*os.File, error) { return openAt(b.archivePath(f.Key), f.Bytes) }
	if f.Bytes == 0 {
		f.LastSeq = 0
		open = func() (*os.File, error) { return createDraft(b.archivePath(f.Key)) }
	}
	out, seq, end, err := writeLines(open, r.Messages(ctx, f.Key, rows.MessageFilter{After: f.LastSeq}))
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.Bytes > 0: // removed or cut by another program
		f.Bytes = 0
		return b.appendArchive(ctx, r, f)
	case err != nil && out != nil:
		return errors.Join(err, out.Close())
	case out != nil:
		f.archive = out
		f.LastSeq = seq
		f.Bytes = end
	}
	return err
}

// write makes the files of a key durable, first the archive, then the document. Their
// names become durable with the sync of their folders, which the caller does.
func (b *backend) write(f keyFiles, damaged func() ([]string, error)) (sqlite.Document, error) {
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
		err = ignoreMissing(os.Remove(archive))
	}
	if err == nil && f.Deleted > f.Written {
		err = b.removeDamaged(f.Key, damaged)
	}
	if err != nil {
		return f.Document, err
	}
	f.Size, f.Modified = 0, 0
	if f.data == nil {
		return f.Document, ignoreMissing(os.Remove(path))
	}
	out, err := createDraft(path)
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

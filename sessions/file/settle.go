package file

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions/memory"
)

// settlers is how many documents are written at once: an fsync waits for the
// disk most of the time.
const settlers = 4

// settle writes the documents of keys whose first change was made before, and
// says how many those were. It goes on with the others when one fails.
func (s *Store) settle(ctx context.Context, before time.Time) (n int, err error) {
	d := s.disk
	d.settling.Lock()
	defer d.settling.Unlock()
	due := d.due(before)
	if len(due) == 0 {
		return 0, nil
	}
	// One look into the folders does for all that was deleted.
	d.damaged = sync.OnceValues(func() ([]string, error) { return Damaged(d.dir) })
	var mu sync.Mutex
	var errs []error
	var workers sync.WaitGroup
	work := make(chan channels.Key) // no buffer: the workers take what they can do
	for range min(settlers, len(due)) {
		workers.Go(func() {
			for k := range work {
				err := s.settleOne(k)
				s.Store.Trim(k)
				if err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for _, k := range due {
		if ctx.Err() != nil {
			break
		}
		work <- k
	}
	close(work)
	workers.Wait()
	return len(due), errors.Join(append(errs, ctx.Err(), d.syncDirs())...)
}

// due are the keys whose first change was made before.
func (d *disk) due(before time.Time) (keys []channels.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k, t := range d.since {
		if !t.After(before) {
			keys = append(keys, k)
		}
	}
	return keys
}

func (d *disk) syncDirs() error {
	var errs []error
	for _, sub := range dataDirs {
		errs = append(errs, syncDir(filepath.Join(d.dir, sub)))
	}
	return errors.Join(errs...)
}

// settleOne brings the document and the archive of k up to the log. The caller
// holds settling.
func (s *Store) settleOne(k channels.Key) error {
	d := s.disk
	lock := d.lock(k)
	for {
		lock.Lock()
		before, err := d.stateOf(k)
		lock.Unlock()
		if err != nil {
			return err
		}
		// The store may read the document now, so the lock is free.
		var changes []change
		var lsn int64
		head, content, err := s.Store.Document(k, func() { changes, lsn = d.waiting(k, before.lsn), d.last() })
		if err != nil {
			return err
		}
		again, err := s.writeOne(head, content, changes, lsn, before)
		if !again || err != nil {
			return err
		}
	}
}

// writeOne writes what settleOne has gathered, and reports whether that has to
// be gathered again because the document was made anew meanwhile.
func (s *Store) writeOne(head memory.Head, content memory.Content, changes []change, lsn int64, before docState) (again bool, err error) {
	d, k := s.disk, head.Key
	lock := d.lock(k)
	lock.Lock()
	defer lock.Unlock()
	st, err := d.stateOf(k)
	if err != nil || st != before {
		return true, err
	}
	if len(changes) > 0 {
		if st, err = d.write(head, content, changes, lsn, st); err != nil {
			return false, err
		}
	}
	d.settled(k, st)
	return false, nil
}

// stateOf is what was last written of k.
func (d *disk) stateOf(k channels.Key) (docState, error) {
	if st, ok := d.state(k); ok {
		return st, nil
	}
	doc, err := d.document(k)
	if err != nil || doc == nil {
		return docState{}, err
	}
	return doc.state(), nil
}

// write makes the files of a key what they are after changes: the archive
// first, then the document that says how much of it counts.
func (d *disk) write(head memory.Head, content memory.Content, changes []change, lsn int64, st docState) (docState, error) {
	k := head.Key
	if changes[len(changes)-1].Gone {
		return docState{lsn: lsn}, errors.Join(removed(os.Remove(d.documentPath(k))), removed(os.Remove(d.archivePath(k))))
	}
	lines, err := archiveLines(head, changes)
	if err != nil {
		return st, err
	}
	if slices.ContainsFunc(changes, func(c change) bool { return c.Anew || c.Gone }) {
		st.archived, err = 0, replace(d.archivePath(k), lines)
	} else {
		err = appendAt(d.archivePath(k), st.archived, lines)
	}
	if err == nil && st.archived == 0 {
		// The document must not be there without the archive that it counts on.
		err = syncDir(filepath.Dir(d.archivePath(k)))
	}
	if err == nil && slices.ContainsFunc(changes, func(c change) bool { return c.Deleted }) {
		err = d.removeDamaged(k)
	}
	if err != nil {
		return st, err
	}
	st.lsn, st.archived = lsn, st.archived+int64(len(lines))
	data, err := newDocument(head, content, st).encode()
	if err == nil {
		err = replace(d.documentPath(k), data)
	}
	return st, err
}

// settled forgets the changes of k that its document has.
func (d *disk) settled(k channels.Key, st docState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.states[k] = st
	left := slices.DeleteFunc(slices.Clone(d.pending[k]), func(c change) bool { return c.lsn <= st.lsn })
	if len(left) > 0 {
		d.pending[k], d.since[k] = left, d.now()
		return
	}
	delete(d.pending, k)
	delete(d.since, k)
	if _, ok := d.heads[k]; !ok {
		delete(d.states, k)
	}
}

// checkpoint brings all documents up to the log and then drops the log.
func (s *Store) checkpoint(ctx context.Context) error {
	s.checkpoints.Lock()
	defer s.checkpoints.Unlock()
	for {
		if done, err := s.tryCheckpoint(ctx); done || err != nil {
			return err
		}
	}
}

// cut is what a checkpoint begins with: all that is not in the documents.
type cut struct {
	common memory.Common
	heads  []memory.Head
	fresh  []seenRow
	lsn    int64
	images int  // how often everything was read
	stale  bool // the log tells of what was deleted
}

// cut begins a new file of the log and takes what the files before it tell of.
func (s *Store) cut() (c cut, err error) {
	d := s.disk
	common, err2 := s.Store.Survey(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		c = cut{heads: slices.Collect(maps.Values(d.heads)), fresh: slices.Clone(d.fresh), lsn: d.lsn, images: d.images, stale: d.stale}
		if err = d.journal.begin(d.lsn + 1); err == nil {
			d.stale = false
		}
	})
	c.common = common
	return c, errors.Join(err, err2)
}

// tryCheckpoint is checkpoint, and reports whether it came to its end: it does
// not if everything was read anew meanwhile, because a commit failed. What was
// accepted since the index is counted anew then.
func (s *Store) tryCheckpoint(ctx context.Context) (done bool, err error) {
	d := s.disk
	c, err := s.cut()
	defer func() {
		if c.stale && !done {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.stale = true
		}
	}()
	if err == nil {
		_, err = s.settle(ctx, forever)
	}
	if err != nil {
		return false, err
	}
	d.indexing.Lock()
	defer d.indexing.Unlock()
	if d.read() != c.images {
		return false, nil
	}
	if err := d.writeCommon(c.common, c.lsn); err != nil {
		return false, err
	}
	if err := d.writeIndex(c); err != nil {
		return false, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fresh = slices.Clone(d.fresh[len(c.fresh):])
	err = d.journal.drop()
	return err == nil, err
}

// read is how often everything was read.
func (d *disk) read() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.images
}

// forever is after every change.
var forever = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

package file

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/memory"
)

// The folders of a store.
const (
	documentDir = "conversations"
	archiveDir  = "archive"
	jobDir      = "jobs"
	logDir      = "log"
)

// dataDirs are those with documents and archives.
var dataDirs = []string{documentDir, archiveDir, jobDir}

// disk is the files of a store.
type disk struct {
	dir string
	now func() time.Time
	log *slog.Logger

	mu      sync.Mutex
	journal journal
	lsn     int64 // of the last commit
	epoch   int64 // lives so far
	heads   map[channels.Key]memory.Head
	// pending are the changes that are in the log and not in a document yet.
	pending map[channels.Key][]change
	since   map[channels.Key]time.Time // the first of them was made
	// states are what is known of documents that were read or written.
	states map[channels.Key]docState
	based  map[channels.Key]bool // keys that the index has
	fresh  []seenRow             // accepted since the last checkpoint
	seen   int64                 // rows in the file of seen ids

	// stale says that the log tells of what was deleted since.
	stale  bool
	opened bool
	images int // how often everything was read

	// settling is held while documents are written, and by those who want none
	// to be. It is taken before the store's lock.
	settling sync.Mutex
	// damaged are the files that were set aside. It belongs to settling.
	damaged func() ([]string, error)
	// locks keep the files of a key together while they are read or written.
	// They are taken under the store's lock, never the other way round.
	locks [64]sync.Mutex
	// indexing is held while everything is read, and while the files that this
	// begins with are replaced and the log is dropped. It is taken under the
	// store's lock, and before locks.
	indexing sync.Mutex
	// checkpoint brings all files up to the log and drops the log.
	checkpoint func() error
}

func (d *disk) lock(k channels.Key) *sync.Mutex {
	return &d.locks[maphash.String(lockSeed, k.String())%uint64(len(d.locks))]
}

var lockSeed = maphash.MakeSeed()

// docState is what the next writing of a document has to know of the last.
type docState struct {
	lsn      int64
	archived int64 // bytes of the archive that belong to it
}

var _ memory.Disk = (*disk)(nil)

func (d *disk) documentPath(k channels.Key) string {
	return filepath.Join(d.dir, folder(k, documentDir), fileName(k)+".json")
}

func (d *disk) archivePath(k channels.Key) string {
	return filepath.Join(d.dir, folder(k, archiveDir), fileName(k)+".jsonl")
}

// folder is where the files of k are: those of a scheduled job, which has a
// queue and no conversation, are not among the conversations.
func folder(k channels.Key, usual string) string {
	if k.Channel() == string(sessions.OriginHeartbeat) {
		return jobDir
	}
	return usual
}

// change is one change of a key with the number of its commit.
type change struct {
	lsn int64
	memory.ChatChange
}

// Commit implements [memory.Disk].
func (d *disk) Commit(changes []memory.Change) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := entry{LSN: d.lsn + 1, Changes: changes}
	if err := d.journal.add(e); err != nil {
		return err
	}
	d.lsn = e.LSN
	d.note(e, d.now())
	return nil
}

// note remembers what a commit changed until it is in the documents.
func (d *disk) note(e entry, now time.Time) {
	for _, c := range e.Changes {
		for _, ch := range c.Chats {
			k := ch.Key
			if len(d.pending[k]) == 0 {
				d.since[k] = now
			}
			d.pending[k] = append(d.pending[k], change{e.LSN, ch})
			d.stale = d.stale || ch.Deleted
			if ch.Gone {
				delete(d.heads, k)
			} else {
				d.heads[k] = ch.Head
			}
			for _, r := range ch.In {
				d.fresh = append(d.fresh, seenRow{memory.Seen(r.Inbound), int32(r.Seq)})
			}
		}
	}
}

// waiting are the changes of k that its document does not have, if its last
// one is from commit lsn.
func (d *disk) waiting(k channels.Key, lsn int64) []change {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.pending[k]
	i, _ := slices.BinarySearchFunc(all, lsn+1, func(c change, lsn int64) int { return cmp.Compare(c.lsn, lsn) })
	return slices.Clone(all[i:])
}

// document reads the document of k: nil if there is none because nothing of k
// was written yet. One that is damaged or missing is made anew from what the
// archive and the log have. The caller holds the lock of k.
func (d *disk) document(k channels.Key) (*document, error) {
	doc, err := readDocument(d.documentPath(k))
	switch {
	case err == nil && doc.Key == k:
		return doc, nil
	case err == nil:
		err = fmt.Errorf("%w: it is the document of another conversation", errDamaged)
	case errors.Is(err, fs.ErrNotExist):
		if info, err2 := os.Stat(d.archivePath(k)); err2 != nil || info.Size() == 0 || d.logged(k) {
			return nil, removed(err2)
		}
		err = errors.New("the document is missing")
	case !errors.Is(err, errDamaged):
		return nil, err
	}
	return d.rebuild(k, err)
}

// logged reports whether the log has all of k: it was never in a document that
// a checkpoint counted, or it began anew since.
func (d *disk) logged(k channels.Key) bool {
	changes := d.waiting(k, 0)
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(changes) > 0 && !d.based[k] || slices.ContainsFunc(changes, func(c change) bool { return c.Anew || c.Gone })
}

func (d *disk) setState(k channels.Key, st docState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.states[k] = st
}

func (d *disk) state(k channels.Key) (docState, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	st, ok := d.states[k]
	return st, ok
}

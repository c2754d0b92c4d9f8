package file

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions/memory"
)

// Image implements [memory.Disk]. It reads what belongs to no conversation,
// the index, and the log; documents only where the index does not know them as
// they are.
func (d *disk) Image() (memory.Image, error) {
	img, err := d.image()
	if err != nil {
		err = fmt.Errorf("read %s: %w", d.dir, err)
	}
	return img, err
}

func (d *disk) image() (memory.Image, error) {
	d.indexing.Lock()
	defer d.indexing.Unlock()
	d.mu.Lock()
	first := !d.opened
	d.images++
	d.mu.Unlock()
	if first { // later ones are of documents that are being written
		if err := d.removeDrafts(); err != nil {
			return memory.Image{}, err
		}
	}
	common, err := d.readCommon()
	if err != nil {
		return memory.Image{}, err
	}
	index, seen, err := d.readIndex()
	if err != nil {
		return memory.Image{}, err
	}
	shared := memory.NewShared()
	shared.Add(common.Common)
	if err := d.replay(common, shared, index, seen); err != nil {
		return memory.Image{}, err
	}
	if err := d.verify(index, seen); err != nil {
		return memory.Image{}, err
	}
	if err := d.beginLife(shared); err != nil {
		return memory.Image{}, err
	}
	for _, h := range shared.Marks() {
		if b, err := hex.DecodeString(h); err == nil && len(b) >= len(memory.SeenID{}) {
			seen.Drop(memory.SeenID(b))
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return memory.Image{Shared: shared, Heads: slices.Collect(maps.Values(d.heads)), Seen: seen, Epoch: d.epoch << 32}, nil
}

func (d *disk) removeDrafts() error {
	for _, sub := range storeDirs {
		drafts, err := pathsWith(filepath.Join(d.dir, sub), draftEnding)
		for _, path := range drafts {
			err = errors.Join(err, removed(os.Remove(path)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readCommon reads what belongs to no conversation, or begins it.
func (d *disk) readCommon() (*commonFile, error) {
	path := filepath.Join(d.dir, commonName)
	c := &commonFile{}
	data, err := os.ReadFile(path)
	if err == nil {
		if err = json.Unmarshal(data, c); err == nil && c.Format > documentFormat {
			return nil, newer(path, c.Format)
		}
		if err == nil && (c.Format < 1 || c.Prefix == "") {
			err = errors.New("it is not complete")
		}
		if err != nil {
			var moved string
			if moved, err = d.giveUp(path, err); err == nil {
				d.log.Error("people, facts and jobs cannot be read; only what the log has of them is left", "set_aside", moved)
			}
			c = &commonFile{}
		}
	}
	if err = removed(err); err != nil {
		return nil, err
	}
	if c.Prefix == "" {
		// Ids of deliveries hold it: nothing may have had it before.
		c.Prefix = strings.ToLower(rand.Text()[:10]) + "-"
		c.Name = strings.TrimSuffix(c.Prefix, "-")
	}
	return c, nil
}

func (d *disk) giveUp(path string, why error) (string, error) {
	moved, err := setAside(path, d.now())
	d.log.Error("a file of the store is damaged", "file", filepath.Base(path), "set_aside", moved, "err", errors.Join(why, err))
	return moved, err
}

// readIndex reads the index and the ids that were seen. Without them, or if
// they are damaged, all documents and archives are read.
func (d *disk) readIndex() (*indexFile, *memory.SeenIDs, error) {
	path := filepath.Join(d.dir, indexName)
	index := &indexFile{}
	data, err := os.ReadFile(path)
	if err == nil {
		index, err = parseIndex(data)
	}
	var seen *memory.SeenIDs
	if err == nil && index.Format >= 1 && index.Format <= documentFormat {
		if seen, err = d.readSeen(index.Seen); err == nil {
			return index, seen, nil
		}
	}
	docs, err2 := pathsWith(filepath.Join(d.dir, documentDir), ".json")
	if err2 != nil {
		return nil, nil, err2
	}
	if len(docs) > 0 {
		d.log.Warn("the index is lost; rebuilding it from all documents", "documents", len(docs), "err", err)
	}
	return &indexFile{}, &memory.SeenIDs{}, nil
}

// replay reads the log.
func (d *disk) replay(common *commonFile, shared *memory.Shared, index *indexFile, seen *memory.SeenIDs) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened {
		if err := d.journal.mend(); err != nil {
			return err
		}
	}
	d.lsn, d.seen, d.fresh = max(common.LSN, index.LSN), index.Seen, nil
	d.pending, d.since = map[channels.Key][]change{}, map[channels.Key]time.Time{}
	d.heads = make(map[channels.Key]memory.Head, len(index.Conversations))
	d.based = make(map[channels.Key]bool, len(index.Conversations))
	for _, h := range index.Conversations {
		d.heads[h.Key], d.based[h.Key] = h.Head, true
	}
	epoch, now := common.Epoch, d.now()
	err := d.journal.read(func(e entry) {
		d.lsn, epoch = max(d.lsn, e.LSN), max(epoch, e.Epoch)
		if e.LSN > common.LSN {
			for _, c := range e.Changes {
				shared.Add(c.Common)
			}
		}
		if e.LSN <= index.LSN {
			return // its documents were written before the index was
		}
		d.note(e, now)
	}, d.damagedLog)
	if err != nil {
		return err
	}
	for _, r := range d.fresh {
		seen.Put(r.id, r.seq)
	}
	if !d.opened {
		d.epoch = epoch
	}
	return nil
}

// beginLife notes in the log that no claim of a former life counts. It comes
// after verify, so that nothing is written to a store that is not for us.
func (d *disk) beginLife(shared *memory.Shared) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened {
		return nil
	}
	if err := d.journal.begin(d.lsn + 1); err != nil {
		return err
	}
	d.epoch++
	life := entry{LSN: d.lsn + 1, Epoch: d.epoch, Changes: []memory.Change{{Common: memory.Common{Prefix: shared.Prefix, Name: shared.Name}}}}
	if err := d.journal.add(life); err != nil {
		return err
	}
	d.lsn, d.opened = life.LSN, true
	return nil
}

package file

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/memory"
)

// Image is part of [memory.Disk]. It reads what belongs to no conversation,
// the index, and the log; documents only where the index does not know them as
// they are.
func (d *disk) Image() (memory.Image, error) {
	if err := d.removeDrafts(); err != nil {
		return memory.Image{}, err
	}
	common, err := d.readCommon()
	if err != nil {
		return memory.Image{}, err
	}
	index, seen, err := d.readIndex()
	if err != nil {
		return memory.Image{}, err
	}
	if err := d.replay(common, index, seen); err != nil {
		return memory.Image{}, err
	}
	if err := d.verify(index, seen); err != nil {
		return memory.Image{}, err
	}
	for _, h := range common.Erased {
		if b, err := hex.DecodeString(h); err == nil && len(b) >= len(memory.SeenID{}) {
			seen.Drop(memory.SeenID(b))
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return memory.Image{Common: common.Common, Heads: slices.Collect(maps.Values(d.heads)), Seen: seen, Epoch: d.epoch << 32}, nil
}

func (d *disk) removeDrafts() error {
	for _, sub := range []string{".", documentDir, archiveDir, jobDir, logDir} {
		drafts, err := filepath.Glob(filepath.Join(d.dir, sub, "*"+draftEnding))
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
			return nil, newerError{c.Format}
		}
		if err == nil && (c.Format < 1 || c.Prefix == "") {
			err = errors.New("it is not complete")
		}
		if err != nil {
			var moved string
			if moved, err = d.giveUp(path, err); err == nil {
				d.log.Error("people, facts and jobs cannot be read; what the log has of them is left", "set_aside", moved)
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
	docs, err2 := filepath.Glob(filepath.Join(d.dir, documentDir, "*.json"))
	if err2 != nil {
		return nil, nil, err2
	}
	if len(docs) > 0 {
		d.log.Warn("the index is lost; it is made anew from all documents", "documents", len(docs), "err", err)
	}
	return &indexFile{}, &memory.SeenIDs{}, nil
}

// replay reads the log.
func (d *disk) replay(common *commonFile, index *indexFile, seen *memory.SeenIDs) error {
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
				mergeCommon(&common.Common, c.Common)
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
	if d.opened {
		return nil
	}
	if err := d.journal.begin(d.lsn + 1); err != nil {
		return err
	}
	// A new life: no claim of a former one counts.
	d.epoch = epoch + 1
	life := entry{LSN: d.lsn + 1, Epoch: d.epoch, Changes: []memory.Change{{Common: memory.Common{Prefix: common.Prefix, Name: common.Name}}}}
	if err := d.journal.add(life); err != nil {
		return err
	}
	d.lsn, d.opened = life.LSN, true
	return nil
}

// mergeCommon makes c what it is after a change.
func mergeCommon(c *memory.Common, ch memory.Common) {
	c.Name, c.Prefix = ch.Name, ch.Prefix
	c.LastIn, c.LastOut = max(c.LastIn, ch.LastIn), max(c.LastOut, ch.LastOut)
	c.LastFact, c.Updates = max(c.LastFact, ch.LastFact), max(c.Updates, ch.Updates)
	if ch.Days != nil {
		c.Days = ch.Days
	}
	if ch.Pairings != nil {
		c.Pairings = ch.Pairings
	}
	for _, gone := range ch.Forgotten {
		c.Facts = slices.DeleteFunc(c.Facts, func(f sessions.FactRecord) bool {
			return f.Scope == gone.Scope && (gone.ID == 0 || f.ID == gone.ID)
		})
	}
	for _, f := range ch.Facts {
		upsert(&c.Facts, f, func(x sessions.FactRecord) bool { return x.Scope == f.Scope && x.ID == f.ID })
	}
	if c.Due == nil {
		c.Due = map[string]time.Time{}
	}
	maps.Copy(c.Due, ch.Due)
	for _, o := range ch.Occurrences {
		upsert(&c.Occurrences, o, func(x sessions.Occurrence) bool { return x.Job == o.Job && x.Due.Equal(o.Due) })
	}
	for _, a := range ch.Asides {
		upsert(&c.Asides, a, func(x memory.AsideRow) bool { return x.ID == a.ID })
	}
	c.Erased = append(c.Erased, ch.Erased...)
}

// verify looks at the documents that are not as the index knows them, and at
// those that it does not know.
func (d *disk) verify(index *indexFile, seen *memory.SeenIDs) error {
	known := make(map[string]indexHead, len(index.Conversations))
	for _, h := range index.Conversations {
		known[fileName(h.Key)+".json"] = h
	}
	for _, sub := range []string{documentDir, jobDir} {
		if err := d.verifyFolder(sub, known, seen); err != nil {
			return err
		}
	}
	for _, h := range known {
		if err := d.missing(h.Key); err != nil {
			return err
		}
	}
	return nil
}

// verifyFolder is verify for one folder. It removes what it finds from known.
func (d *disk) verifyFolder(sub string, known map[string]indexHead, seen *memory.SeenIDs) error {
	entries, err := os.ReadDir(filepath.Join(d.dir, sub))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		h, ok := known[name]
		if !ok || folder(h.Key, documentDir) != sub {
			if err := d.adopt(sub, name, seen); err != nil {
				return err
			}
			continue
		}
		delete(known, name)
		info, err := e.Info()
		if err == nil && (info.Size() != h.Bytes || !info.ModTime().UTC().Equal(h.Changed)) {
			err = d.check(h.Key)
		}
		if err = removed(err); err != nil {
			return err
		}
	}
	return nil
}

// check reads the document of k, which makes it anew if it is damaged, and
// takes over what was written there by hand. What the log has of k since
// counts more.
func (d *disk) check(k channels.Key) error {
	lock := d.lock(k)
	lock.Lock()
	defer lock.Unlock()
	doc, err := d.document(k)
	if err != nil || doc == nil || len(d.waiting(k, doc.LSN)) > 0 {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if h, ok := d.heads[k]; ok && h.Conversation != nil && doc.Head.Conversation != nil {
		v := *h.Conversation // commits that are being written may share it
		v.Title, v.Settings.Metadata = doc.Title, doc.Metadata
		h.Conversation = &v
		d.heads[k] = h
	}
	return nil
}

// missing is about a conversation that the index knows and that has no
// document: if its archive is gone too, somebody took it away.
func (d *disk) missing(k channels.Key) error {
	if len(d.waiting(k, 0)) > 0 {
		return nil
	}
	if _, err := os.Stat(d.archivePath(k)); errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("the files of a conversation are gone", "key", k.String())
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.heads, k)
		return nil
	}
	return d.check(k)
}

// adopt takes in a document that the index does not know: one that was made
// since, or that was put there by hand, or any if the index is lost.
func (d *disk) adopt(sub, name string, seen *memory.SeenIDs) error {
	path := filepath.Join(d.dir, sub, name)
	k, named := keyOf(strings.TrimSuffix(name, ".json"))
	doc, err := readDocument(path)
	switch {
	case err == nil:
		k = doc.Key
	case !errors.Is(err, errDamaged):
		return removed(err)
	case !named:
		_, err := d.giveUp(path, err)
		return err
	}
	if d.documentPath(k) != path {
		d.log.Warn("a file in a folder of documents is not one of ours, it is left alone", "folder", sub, "file", name)
		return nil
	}
	lock := d.lock(k)
	lock.Lock()
	defer lock.Unlock()
	if doc, err = d.document(k); err != nil || doc == nil {
		return err
	}
	if _, newer := d.head(k); !newer {
		d.mu.Lock()
		d.heads[k] = doc.Head
		d.lsn = max(d.lsn, doc.LSN)
		d.mu.Unlock()
	}
	content, err := d.whole(doc)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range content.In {
		id := memory.Seen(r.Inbound)
		if _, ok := seen.Seq(id); !ok {
			seen.Put(id, int32(r.Seq))
			d.fresh = append(d.fresh, seenRow{id, int32(r.Seq)})
		}
	}
	return nil
}

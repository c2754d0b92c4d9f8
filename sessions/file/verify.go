package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dragoman/channels"
	"dragoman/sessions/memory"
)

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
	return d.verifyArchives(index)
}

// verifyArchives looks for archives that are gone or no files, by their names alone: an
// archive may be long. What their documents show is saved at once, so that it
// is said once, and nothing is added where the beginning is missing.
func (d *disk) verifyArchives(index *indexFile) error {
	there := map[string]bool{}
	for _, sub := range []string{archiveDir, jobDir} {
		entries, err := os.ReadDir(filepath.Join(d.dir, sub))
		if err != nil {
			return err
		}
		for _, e := range entries {
			there[filepath.Join(d.dir, sub, e.Name())] = e.Type().IsRegular()
		}
	}
	for _, h := range index.Conversations {
		if there[d.archivePath(h.Key)] {
			continue
		}
		if err := d.archiveGone(h.Key); err != nil {
			return err
		}
	}
	return nil
}

// archiveGone is about a conversation that the index knows and that has no
// archive.
func (d *disk) archiveGone(k channels.Key) error {
	lock := d.lock(k)
	lock.Lock()
	defer lock.Unlock()
	if _, there := d.head(k); !there || d.logged(k) {
		return nil // it went, or begins anew without what was before
	}
	doc, err := d.document(k)
	if err == nil && doc != nil {
		_, err = d.whole(doc)
	}
	return err
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
		if err == nil {
			closeToOthers(filepath.Join(d.dir, sub, name), info)
		}
		if err == nil && (info.Size() != h.Bytes || !info.ModTime().UTC().Equal(h.Changed)) {
			err = d.check(h.Key)
		}
		if err = removed(err); err != nil {
			return err
		}
	}
	return nil
}

// closeToOthers takes from others what an editor, or a restored backup, let them
// read of a document. It is no harm if that is not ours to do.
func closeToOthers(path string, info fs.FileInfo) {
	if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(path, 0o600)
	}
}

// check reads the document of k, which makes it anew if it is damaged, and
// takes over what was written there by hand. What the log has of k since
// counts more.
func (d *disk) check(k channels.Key) error {
	lock := d.lock(k)
	lock.Lock()
	defer lock.Unlock()
	doc, err := d.document(k)
	if err != nil || doc == nil {
		return err
	}
	if err := d.takeEdits(doc); err != nil || len(d.waiting(k, doc.LSN)) > 0 {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if h, ok := d.heads[k]; ok && h.Conversation != nil && doc.Head.Conversation != nil {
		v := *h.Conversation // commits that are being written may share it
		// One that was just made anew shows fields of others beside its
		// metadata; its head has all of them, as that of one that was read.
		edited := doc.Head.Conversation
		v.Title, v.Settings.Metadata = edited.Title, edited.Settings.Metadata
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
		d.log.Warn("a file in a folder of documents is not one of ours; it is left alone", "folder", sub, "file", name)
		return nil
	}
	if info, err := os.Stat(path); err == nil {
		closeToOthers(path, info)
	}
	lock := d.lock(k)
	lock.Lock()
	defer lock.Unlock()
	if doc, err = d.document(k); err != nil || doc == nil {
		return err
	}
	if err := d.takeEdits(doc); err != nil {
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

package file

import (
	"errors"
	"io/fs"
	"path/filepath"

	"dragoman/channels"
	"dragoman/sessions/memory"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// rebuild makes a document of k from the archive and the log. The one that
// cannot be read is kept under another name. Nil: nothing is known of k. The caller holds the lock of k.
func (d *disk) rebuild(k channels.Key, why error) (*document, error) {
	// The archive first: one that is there and may not be read now leaves all
	// as it is, so that the next start finds the document in its place.
	a, damage := readArchive(d.archivePath(k), -1)
	if damage != nil && !errors.Is(damage, errDamaged) {
		return nil, damage
	}
	aside, err := setAside(d.documentPath(k), d.now())
	if err = removed(err); err != nil {
		return nil, err
	}
	if damage != nil {
		moved, err := setAside(d.archivePath(k), d.now())
		if err != nil {
			return nil, err
		}
		d.log.Error("an archive is damaged; the readable part of it is kept", "key", k.String(), "set_aside", moved)
	}
	changes := d.waiting(k, 0)
	head, known := d.head(k)
	if !known && a.head != nil {
		head, known = *a.head, true
	}
	if !known && len(changes) == 0 && len(a.Messages)+len(a.In)+len(a.Out) == 0 {
		d.log.Error("a file is not a document of this store and was set aside; nothing is known of its conversation",
			"key", k.String(), "set_aside", aside, "err", why)
		return nil, nil
	}
	head.Key = k
	content := a.Content
	// What the log still has may be older than the archive in places: rows
	// come in the order of their commits, so the last one is right.
	for _, ch := range changes {
		ch.Steps, ch.Ended = nil, nil
		content.Apply(&ch.ChatChange)
	}
	// Journals are in documents alone: an interrupted turn begins anew.
	for i, r := range content.In {
		if r.State == rules.InWaiting {
			content.In[i].Turn = ""
		}
	}
	fit(&head, content)
	doc, err := d.store(head, content, docState{lsn: d.last()})
	d.log.Error("the document of a conversation could not be read; it was rebuilt from the archive and the log",
		"key", k.String(), "set_aside", aside, "messages", len(content.Messages), "err", errors.Join(why, err))
	return doc, err
}

// fit makes a head fit what could be saved.
func fit(h *memory.Head, c memory.Content) {
	for _, r := range c.In {
		h.Seq = max(h.Seq, r.Seq)
	}
	for _, o := range c.Out {
		h.Seq = max(h.Seq, o.Seq)
	}
	n := len(c.Messages)
	if n == 0 {
		return
	}
	last := c.Messages[n-1]
	h.MessageSeq = max(h.MessageSeq, last.Seq)
	if h.Conversation == nil {
		h.Conversation = &memory.ConvHead{Conversation: rows.Conversation{Created: c.Messages[0].At, Updated: last.At, From: last.Seq}}
	}
	h.Conversation.Messages = n
}

// store writes the document and the archive of a conversation anew, with all
// that is known of it. The caller holds its lock.
func (d *disk) store(head memory.Head, all memory.Content, st docState) (*document, error) {
	ch := memory.ChatChange{Anew: true, Messages: all.Messages, Summaries: &all.Summaries, In: all.In, Out: all.Out}
	lines, err := archiveLines(head, []change{{st.lsn, ch}})
	if err != nil {
		return nil, err
	}
	if err = replace(d.archivePath(head.Key), lines); err == nil {
		err = syncDir(filepath.Dir(d.archivePath(head.Key)))
	}
	if err != nil {
		return nil, err
	}
	st.archived = int64(len(lines))
	doc := newDocument(head, memory.Newest(head, all), st)
	data, err := doc.encode()
	if err != nil {
		return nil, err
	}
	if err := replace(d.documentPath(head.Key), data); err != nil {
		return nil, err
	}
	d.setState(head.Key, st)
	return doc, syncDir(filepath.Dir(d.documentPath(head.Key)))
}

// mendArchive keeps a damaged archive under another name and writes what can
// be read of it, and what the document shows, anew. One that is gone is told of
// by what is missing now.
func (d *disk) mendArchive(doc *document, a *archive, why error) (*archive, error) {
	k := doc.Key
	moved, err := setAside(d.archivePath(k), d.now())
	gone := errors.Is(err, fs.ErrNotExist)
	if err = removed(err); err != nil {
		return nil, err
	}
	content := doc.over(a.Content)
	written, err := d.store(doc.Head, content, doc.state())
	if gone && err == nil {
		d.log.Warn("the archive of a conversation is gone; the messages in its document are kept", "key", k.String(),
			"file", filepath.Join(folder(k, archiveDir), filepath.Base(d.archivePath(k))), "missing", doc.older(), "messages", len(content.Messages))
	} else {
		d.log.Error("an archive is damaged; the readable part of it is kept", "key", k.String(), "set_aside", moved,
			"messages", len(content.Messages), "err", errors.Join(why, err))
	}
	if err != nil {
		return nil, err
	}
	doc.ArchiveBytes = written.ArchiveBytes
	a.Content = content
	return a, nil
}

// older is how many messages of a conversation its document does not show.
func (d *document) older() int {
	if d.Head.Conversation == nil {
		return 0
	}
	return max(0, d.Head.Conversation.Messages-len(d.Messages))
}

func (d *disk) head(k channels.Key) (memory.Head, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, ok := d.heads[k]
	return h, ok
}

func (d *disk) last() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lsn
}

// damagedLog does something about a file of the log in which only the good
// lines can be read.
func (d *disk) damagedLog(path string, good []byte, torn bool) error {
	if torn {
		d.log.Warn("the last commit in the log is incomplete, as after a crash; it was never confirmed", "file", filepath.Base(path))
		return appendAt(path, int64(len(good)), nil)
	}
	moved, err := setAside(path, d.now())
	if err == nil {
		err = replace(path, good)
	}
	if err == nil {
		err = syncDir(d.journal.dir)
	}
	d.log.Error("commits in the log cannot be read and are left out", "file", filepath.Base(path), "set_aside", moved, "err", err)
	return err
}

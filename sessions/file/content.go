package file

import (
	"errors"
	"math"
	"slices"
	"sync"

	"dragoman/channels"
	"dragoman/sessions/memory"
)

// Content implements [memory.Disk].
func (d *disk) Content(k channels.Key, whole bool) (memory.Content, error) {
	return d.contentAt(k, whole, math.MaxInt64)
}

// contentAt is what there was of k after the commit lsn, or what the document
// has if that is newer.
func (d *disk) contentAt(k channels.Key, whole bool, lsn int64) (memory.Content, error) {
	p, err := d.pieces(k, whole, lsn)
	if err != nil {
		return memory.Content{}, err
	}
	if !p.more {
		return p.content(), nil
	}
	// An archive may be long: it is read without the lock, which others need.
	// What counts of it does not change, and if it is replaced we have the old
	// one open.
	a, err := p.archive.read(p.doc.ArchiveBytes)
	if errors.Is(err, errDamaged) {
		return d.mended(k, lsn)
	}
	if err != nil {
		return memory.Content{}, err
	}
	p.archived = &a.Content
	return p.content(), nil
}

// mended is contentAt for an archive that is damaged: nothing else may happen
// to it while it is mended.
func (d *disk) mended(k channels.Key, lsn int64) (memory.Content, error) {
	lock := d.lock(k)
	lock.Lock()
	defer lock.Unlock()
	p, err := d.piecesLocked(k, false, lsn)
	if err != nil || p.doc == nil || p.anew {
		return p.content(), err
	}
	archived, err := d.whole(p.doc)
	p.archived = &archived
	return p.content(), err
}

// pieces are what a conversation is put together from.
type pieces struct {
	doc      *document // may be nil
	changes  []change  // since the document
	anew     bool      // what was before them does not count
	more     bool      // the archive is to be read
	archive  archiveFile
	archived *memory.Content
}

func (d *disk) pieces(k channels.Key, whole bool, lsn int64) (pieces, error) {
	lock := d.lock(k)
	lock.Lock()
	defer lock.Unlock()
	return d.piecesLocked(k, whole, lsn)
}

// piecesLocked is pieces for a caller who holds the lock of k.
func (d *disk) piecesLocked(k channels.Key, whole bool, lsn int64) (p pieces, err error) {
	if p.doc, err = d.document(k); err != nil {
		return p, err
	}
	written := int64(0)
	if p.doc != nil {
		written = p.doc.LSN
	}
	p.changes = slices.DeleteFunc(d.waiting(k, written), func(c change) bool { return c.lsn > lsn })
	p.anew = slices.ContainsFunc(p.changes, func(c change) bool { return c.Anew || c.Gone })
	if p.more = whole && p.doc != nil && !p.anew; p.more {
		p.archive, err = openArchive(d.archivePath(k))
	}
	return p, err
}

func (p pieces) content() memory.Content {
	var content memory.Content
	switch {
	case p.doc != nil && p.archived != nil:
		content = p.doc.over(*p.archived)
	case p.doc != nil:
		content = p.doc.content()
	}
	for _, ch := range p.changes {
		content.Apply(&ch.ChatChange)
	}
	return content
}

// moment implements [memory.Disk]. No document is written until it ends, so
// that they and the log have what there was.
type moment struct {
	d   *disk
	lsn int64
	end sync.Once
}

// Moment implements [memory.Disk].
func (d *disk) Moment() memory.Moment {
	d.settling.Lock()
	return &moment{d: d}
}

func (m *moment) Take() { m.lsn = m.d.last() }

func (m *moment) Content(k channels.Key) (memory.Content, error) {
	return m.d.contentAt(k, true, m.lsn)
}

func (m *moment) End() { m.end.Do(m.d.settling.Unlock) }

// whole is what stands in the archive and in the document of a conversation.
func (d *disk) whole(doc *document) (memory.Content, error) {
	a, err := readArchive(d.archivePath(doc.Key), doc.ArchiveBytes)
	if errors.Is(err, errDamaged) {
		if a, err = d.mendArchive(doc, a, err); err != nil {
			return memory.Content{}, err
		}
	}
	if err != nil {
		return memory.Content{}, err
	}
	return doc.over(a.Content), nil
}

// over is what an archive and its document say together: a document shows all
// from its first message on, as they were edited.
func (d *document) over(archived memory.Content) memory.Content {
	newest := d.content()
	return newest.Over(archived)
}

package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
	"dragoman/sessions/sqlite"
)

// compare makes rows and documents agree. A document that is as it was written is
// not read.
func (s *Store) compare(ctx context.Context) error {
	docs, err := s.b.Documents(ctx, false)
	if err != nil {
		return err
	}
	known := map[string]sqlite.Document{}
	for _, doc := range docs {
		known[s.b.documentPath(doc.Key)] = doc
	}
	// The marker that takeIn leaves at its end.
	if known[s.b.documentPath(channels.Key{})].Written == 0 {
		return s.takeIn(ctx, docs)
	}
	if err := s.b.removeFormer(); err != nil {
		return err
	}
	files, err := s.b.files()
	if err != nil {
		return err
	}
	changed, err := s.b.changed(files, known)
	for _, path := range changed {
		if err == nil {
			err = refuseNewer(path)
		}
	}
	if err == nil {
		err = s.b.missing(ctx, files, docs)
	}
	for _, path := range changed {
		if err == nil {
			err = s.takeOver(ctx, path, known[path])
		}
	}
	return err
}

// files are all files in the folders of the store.
func (b *backend) files() (map[string]fs.DirEntry, error) {
	all := map[string]fs.DirEntry{}
	for _, sub := range storeDirs {
		entries, err := os.ReadDir(filepath.Join(b.dir, sub))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			all[filepath.Join(b.dir, sub, e.Name())] = e
		}
	}
	return all, nil
}

// changed are the documents that are not as they were written, or new.
func (b *backend) changed(files map[string]fs.DirEntry, known map[string]sqlite.Document) (changed []string, err error) {
	for path, e := range files {
		doc, ours := known[path]
		if sub := filepath.Base(filepath.Dir(path)); !ours && (filepath.Ext(path) != ".json" || sub != documentDir && sub != jobDir) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		closeToOthers(path, info)
		if !info.Mode().IsRegular() || info.Size() != doc.Size || info.ModTime().UnixNano() != doc.Modified {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

// closeToOthers takes from others what an editor, or a restored backup, let them
// read of a document. It is no harm if that is not ours to do.
func closeToOthers(path string, info fs.FileInfo) {
	if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(path, 0o600)
	}
}

// missing has documents and archives written anew that are gone, and archives that
// are no files. Archives are looked at by their names alone: there may be many, and one
// that is cut is found when it is written to.
func (b *backend) missing(ctx context.Context, files map[string]fs.DirEntry, docs []sqlite.Document) error {
	var documents, archives []channels.Key
	for _, doc := range docs {
		tell := func(what, path string) {
			if !doc.Stale() {
				b.log.Warn(what, "key", doc.Key.String(), "file", filepath.Base(path))
			}
		}
		if path := b.documentPath(doc.Key); doc.Size > 0 && files[path] == nil {
			tell("the document of a conversation is gone; it is written anew", path)
			documents = append(documents, doc.Key)
		}
		path := b.archivePath(doc.Key)
		switch e := files[path]; {
		case e == nil && doc.Bytes > 0:
			tell("the archive of a conversation is gone; it is written anew", path)
			archives = append(archives, doc.Key)
		case e != nil && !e.Type().IsRegular() && !doc.Key.IsZero():
			if err := b.setArchiveAside(doc.Key); err != nil {
				return err
			}
			archives = append(archives, doc.Key)
		}
	}
	return errors.Join(b.Outdate(ctx, false, documents...), b.Outdate(ctx, true, archives...))
}

func (b *backend) setArchiveAside(k channels.Key) error {
	moved, err := setAside(b.archivePath(k), b.now())
	b.log.Error("an archive is damaged; what is known of it is written anew", "key", k.String(), "set_aside", moved, "err", err)
	return err
}

// takeOver makes the rows what a document says that is not as it was written. doc
// is what is known of it, without a key if that is nothing.
func (s *Store) takeOver(ctx context.Context, path string, doc sqlite.Document) error {
	if path == s.b.documentPath(channels.Key{}) {
		return s.takeOverCommon(ctx, path)
	}
	st, err := s.b.stray(path)
	if err != nil || st == nil {
		return err
	}
	if doc.Changed == 0 {
		return s.adopt(ctx, *st)
	}
	if st.damage == nil {
		err = s.takeEdits(ctx, st.doc, doc)
	}
	if errors.Is(err, errDamaged) {
		st.damage, err = err, nil
	}
	if st.damage != nil {
		err = s.b.setDocumentAside(path, doc.Key, st.damage)
	}
	return errors.Join(err, s.b.Outdate(ctx, false, doc.Key))
}

// setDocumentAside keeps a document that cannot be read under another name.
func (b *backend) setDocumentAside(path string, k channels.Key, why error) error {
	moved, err := setAside(path, b.now())
	b.log.Error("a document could not be read; what is known of its conversation is written anew", "key", k.String(), "set_aside", moved,
		"err", errors.Join(why, err))
	return removed(err)
}

// takeOverCommon has the file of what belongs to no conversation written anew. The
// rows count.
func (s *Store) takeOverCommon(ctx context.Context, path string) error {
	if _, err := s.b.readCommonFile(path); err != nil {
		return err
	}
	return s.b.Outdate(ctx, false, channels.Key{})
}

// contentName is under what the original of a content is kept that the text of
// a message was made of, once that text was edited by hand.
const contentName = "original_content"

// takeEdits takes over what somebody edited in a document. What the rows have of it
// since it was written counts more. Errors: errDamaged.
func (s *Store) takeEdits(ctx context.Context, d *document, doc sqlite.Document) error {
	edited := 0
	err := s.b.Update(ctx, []channels.Key{d.Key}, func(r rows.Reader) (changes rows.Changes, err error) {
		h, known, err := r.Head(ctx, d.Key)
		if err != nil || !known {
			return changes, err
		}
		ch := &rows.Chat{Head: h}
		if doc.Whole <= doc.Written {
			ch.Rewritten, err = edits(ctx, r, d, doc.Stale())
		}
		if v := h.Conversation; v != nil && d.Head.Conversation != nil && !doc.Stale() {
			own := *v
			own.Title, own.Settings.Metadata = d.Title, d.Metadata
			ch.Conversation = &own
		}
		if edited = len(ch.Rewritten); edited > 0 || !reflect.DeepEqual(ch.Conversation, h.Conversation) {
			changes.Chats = append(changes.Chats, ch)
		}
		return changes, err
	})
	if edited > 0 && err == nil {
		s.b.log.Info("messages were edited by hand", "key", d.Key.String(), "messages", edited)
	}
	return err
}

// edits are the messages of a document that are not as in the rows, in the form
// that they get there.
func edits(ctx context.Context, rs rows.Reader, d *document, stale bool) (changed []sessions.Message, err error) {
	if len(d.Messages) == 0 {
		return nil, nil
	}
	r := &keyReader{}
	first, last := d.Messages[0].Seq, d.Messages[len(d.Messages)-1].Seq
	list := collect(r, rs.Messages(ctx, d.Key, rows.Said{After: first - 1, Before: last + 1}))
	if r.err == nil && len(list) < len(d.Messages) && !stale {
		r.err = fmt.Errorf("%w: it has messages that the store does not have", errDamaged)
	}
	for _, old := range list {
		if r.err != nil {
			break
		}
		m := rules.Message(message(d.Messages[old.Seq-first]).plain(), old.At)
		// An edited text takes the place of what it was made of.
		if raw, ok := m.Extra["content"]; ok && m.Content != old.Content {
			delete(m.Extra, "content")
			m.Extra[contentName] = raw
		}
		one, err := json.Marshal(old)
		two, err2 := json.Marshal(m)
		if r.err = errors.Join(err, err2); !bytes.Equal(one, two) {
			changed = append(changed, m)
		}
	}
	return changed, r.err
}

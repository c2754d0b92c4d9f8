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

// reconcile makes rows and documents agree. It reads only documents that changed
// since they were written. converting is that of [Options].
func (s *Store) reconcile(ctx context.Context, converting func(backup string)) error {
	docs, err := s.b.Documents(ctx, false)
	if err != nil {
		return err
	}
	known := make(map[string]sqlite.Document, len(docs))
	for _, doc := range docs {
		known[s.b.documentPath(doc.Key)] = doc
	}
	// rebuild marks its end here.
	if known[s.b.documentPath(channels.Key{})].Written == 0 {
		return s.rebuild(ctx, docs, converting)
	}
	if err := s.b.removeFormat2(); err != nil {
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
		err = s.b.outdateMissing(ctx, files, docs)
	}
	for _, path := range changed {
		if err == nil {
			err = s.apply(ctx, path, known[path])
		}
	}
	return err
}

// files returns the entries of all folders of the store, by path.
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

// changed returns the paths of documents that are new or not as they were written. It
// takes a document's permissions away from other users, whom an editor or a restored
// backup may have given some.
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
		if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			_ = os.Chmod(path, 0o600) // fails if the file is another user's
		}
		if !info.Mode().IsRegular() || info.Size() != doc.Size || info.ModTime().UnixNano() != doc.Modified {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

// outdateMissing has documents and archives written anew that are missing, and
// archives that are no files. It checks only the names of archives, since there may
// be many: appendArchive notices one that was cut.
func (b *backend) outdateMissing(ctx context.Context, files map[string]fs.DirEntry, docs []sqlite.Document) error {
	var documents, archives []channels.Key
	for _, doc := range docs {
		warn := func(msg, path string) {
			if !doc.Stale() { // else a crash may have come before the file was written
				b.log.Warn(msg, "key", doc.Key.String(), "file", filepath.Base(path))
			}
		}
		if path := b.documentPath(doc.Key); doc.Size > 0 && files[path] == nil {
			warn("the document of a conversation is gone; it is written anew", path)
			documents = append(documents, doc.Key)
		}
		path := b.archivePath(doc.Key)
		switch e := files[path]; {
		case e == nil && doc.Bytes > 0:
			warn("the archive of a conversation is gone; it is written anew", path)
			archives = append(archives, doc.Key)
		case e != nil && !e.Type().IsRegular() && !doc.Key.IsZero():
			if err := b.renameDamagedArchive(doc.Key); err != nil {
				return err
			}
			archives = append(archives, doc.Key)
		}
	}
	return errors.Join(b.Outdate(ctx, false, documents...), b.Outdate(ctx, true, archives...))
}

func (b *backend) renameDamagedArchive(k channels.Key) error {
	to, err := renameDamaged(b.archivePath(k), b.now())
	b.log.Error("an archive is damaged; what is known of it is written anew", "key", k.String(), "set_aside", to, "err", err)
	return err
}

// apply applies the changes in the document at path to the rows. doc is what is noted
// of it; the zero Document if nothing is.
func (s *Store) apply(ctx context.Context, path string, doc sqlite.Document) error {
	if path == s.b.documentPath(channels.Key{}) {
		return s.restoreCommon(ctx, path)
	}
	o, err := s.b.readOrphan(path)
	if err != nil || o == nil {
		return err
	}
	if doc.Changed == 0 {
		return s.adopt(ctx, *o)
	}
	if o.damage == nil {
		err = s.applyEdits(ctx, o.doc, doc)
	}
	if errors.Is(err, errDamaged) {
		o.damage, err = err, nil
	}
	if o.damage != nil {
		err = s.b.renameDamagedDocument(path, doc.Key, o.damage)
	}
	return errors.Join(err, s.b.Outdate(ctx, false, doc.Key))
}

func (b *backend) renameDamagedDocument(path string, k channels.Key, why error) error {
	to, err := renameDamaged(path, b.now())
	b.log.Error("a document could not be read; what is known of its conversation is written anew", "key", k.String(), "set_aside", to,
		"err", errors.Join(why, err))
	return ignoreMissing(err)
}

// restoreCommon has store.json written anew. Edits in it do not count.
func (s *Store) restoreCommon(ctx context.Context, path string) error {
	if _, err := s.b.readCommonFile(path); err != nil {
		return err
	}
	return s.b.Outdate(ctx, false, channels.Key{})
}

// contentName is the field of Extra that keeps the original parts of a message whose
// text was edited by hand.
const contentName = "original_content"

// applyEdits makes the edits of a document durable. Rows that changed since the
// document was written win. Errors: errDamaged.
func (s *Store) applyEdits(ctx context.Context, d *document, doc sqlite.Document) error {
	edited := 0
	err := s.b.Update(ctx, []channels.Key{d.Key}, func(r rows.Reader) (changes rows.Changes, err error) {
		edited = 0
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

// edits returns the messages of a document that differ from their rows, cleaned as
// the rows are.
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
		m := rules.Message(message(d.Messages[old.Seq-first]).decode(), old.At)
		// An edited text replaces the parts that it was made of.
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

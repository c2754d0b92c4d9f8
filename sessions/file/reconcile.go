package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
	"dragoman/sessions/sqlite"
)

// reconcile makes rows and documents agree. It reads only documents that changed
// since they were written. converting is that of [Options].
func (s store) reconcile(ctx context.Context, converting func(backup string)) error {
	b := s.b
	var files listing
	var unlisted error
	var lister sync.WaitGroup
	lister.Go(func() { files, unlisted = b.list() })
	docs, err := b.Documents(ctx, false)
	lister.Wait()
	if err = errors.Join(err, unlisted); err != nil {
		return err
	}
	// rebuild marks its end in the document of the zero key.
	if !slices.ContainsFunc(docs, func(doc sqlite.Document) bool { return doc.Key.IsZero() && doc.Written > 0 }) {
		return s.rebuild(ctx, docs, converting)
	}
	if err := b.removeFormat2(); err != nil {
		return err
	}
	d := b.compare(files, docs)
	paths := slices.Sorted(maps.Keys(d.changed))
	for _, path := range paths {
		if err := refuseNewer(path); err != nil {
			return err
		}
	}
	for _, k := range d.odd {
		if err := b.renameDamagedArchive(k); err != nil {
			return err
		}
	}
	err = errors.Join(b.Outdate(ctx, false, d.documents...), b.Outdate(ctx, true, append(d.archives, d.odd...)...))
	for _, path := range paths {
		if err == nil {
			err = s.apply(ctx, path, d.changed[path])
		}
	}
	return err
}

// listing is the files of the store, by their paths within it.
type listing map[string]fs.DirEntry

// list lists the files. It also reads the FileInfo of documents, but not of archives,
// which may be many.
func (b *backend) list() (listing, error) {
	all := listing{}
	for _, dir := range storeDirs {
		entries, err := os.ReadDir(filepath.Join(b.dir, dir))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if filepath.Ext(e.Name()) == ".json" {
				info, err := e.Info()
				if err != nil {
					return nil, err
				}
				e = fs.FileInfoToDirEntry(info)
			}
			all[filepath.Join(dir, e.Name())] = e
		}
	}
	return all, nil
}

// differences are the files that do not agree with the rows.
type differences struct {
	changed   map[string]sqlite.Document // documents that are new or not as noted, by path
	documents []channels.Key             // whose documents are missing
	archives  []channels.Key             // whose archives are missing
	odd       []channels.Key             // whose archives are no files
}

// compare compares the files with what is noted of them. An archive that was cut is
// noticed by appendArchive. compare makes documents private, since an editor or a
// restored backup may have changed their permissions.
func (b *backend) compare(files listing, docs []sqlite.Document) differences {
	d := differences{changed: map[string]sqlite.Document{}}
	compare := func(name string, doc sqlite.Document) {
		info, _ := files[name].Info() // list has read it
		path := filepath.Join(b.dir, name)
		if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			_ = os.Chmod(path, 0o600) // fails if the file is another user's
		}
		if !info.Mode().IsRegular() || info.Size() != doc.Size || info.ModTime().UnixNano() != doc.Modified {
			d.changed[path] = doc
		}
	}
	for _, doc := range docs {
		warn := func(msg, file string) {
			if !doc.Stale() { // else a crash may have come before the file was written
				b.log.Warn(msg, "key", doc.Key.String(), "file", filepath.Base(file))
			}
		}
		name := documentName(doc.Key)
		if files[name] != nil {
			compare(name, doc)
			delete(files, name)
		} else if doc.Size > 0 {
			warn("the document of a conversation is gone; it is written anew", name)
			d.documents = append(d.documents, doc.Key)
		}
		name = archiveName(doc.Key)
		switch e := files[name]; {
		case e == nil && doc.Bytes > 0:
			warn("the archive of a conversation is gone; it is written anew", name)
			d.archives = append(d.archives, doc.Key)
		case e != nil && !e.Type().IsRegular() && !doc.Key.IsZero():
			d.odd = append(d.odd, doc.Key)
		}
	}
	for name := range files {
		if dir := filepath.Dir(name); filepath.Ext(name) == ".json" && (dir == documentDir || dir == jobDir) {
			compare(name, sqlite.Document{})
		}
	}
	return d
}

func (b *backend) renameDamagedArchive(k channels.Key) error {
	to, err := renameDamaged(b.archivePath(k), b.now())
	b.log.Error("an archive is damaged; what is known of it is written anew", "key", k.String(), "set_aside", to, "err", err)
	return err
}

// apply applies the changes in the document at path to the rows. doc is what is noted
// of it; the zero Document if nothing is.
func (s store) apply(ctx context.Context, path string, doc sqlite.Document) error {
	if path == s.b.documentPath(channels.Key{}) { // edits in it do not count
		_, err := s.b.readCommonFile(path)
		if err == nil {
			err = s.b.Outdate(ctx, false, doc.Key)
		}
		return err
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

// contentName is the field of Extra that keeps the original parts of a message whose
// text was edited by hand.
const contentName = "original_content"

// applyEdits makes the edits of a document durable. Rows that changed since the
// document was written win. Errors: errDamaged.
func (s store) applyEdits(ctx context.Context, d *document, doc sqlite.Document) error {
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
		edited = len(ch.Rewritten)
		if edited > 0 || !reflect.DeepEqual(ch.Conversation, h.Conversation) {
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
	list := collect(r, rs.Messages(ctx, d.Key, rows.MessageFilter{After: first - 1, Before: last + 1}))
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
		if m.Content != old.Content && slices.Equal(m.ForModel, old.ForModel) {
			m.ForModel = nil // these were places in the former text
		}
		one, err := json.Marshal(old)
		two, err2 := json.Marshal(m)
		r.err = errors.Join(err, err2)
		if !bytes.Equal(one, two) {
			changed = append(changed, m)
		}
	}
	return changed, r.err
}

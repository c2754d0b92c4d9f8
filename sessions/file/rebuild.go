package file

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	driver "modernc.org/sqlite"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
	"dragoman/sessions/sqlite"
)

// orphan is a conversation that has files and no rows.
type orphan struct {
	key     channels.Key
	path    string    // of the document; "": there is none
	doc     *document // nil: missing or damaged
	damage  error     // what is wrong with the document
	changes []logChat // of format 2: newer than the document
}

// readOrphan reads the document at path. It returns nil if the file is missing or
// foreign. Errors: sessions.NewerError.
func (b *backend) readOrphan(path string) (*orphan, error) {
	doc, err := readDocument(path)
	k, _ := keyOf(strings.TrimSuffix(filepath.Base(path), ".json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, errDamaged):
		return &orphan{key: k, path: path, damage: err}, nil
	case err != nil:
		return nil, err
	case b.documentPath(doc.Key) == path:
		return &orphan{key: doc.Key, path: path, doc: doc}, nil
	}
	if _, err := os.Lstat(b.archivePath(k)); !k.IsZero() && err == nil {
		return &orphan{key: k, path: path, damage: errors.New("it is the document of another conversation")}, nil
	}
	b.log.Warn("a file in a folder of documents is not one of ours; it is left alone", "file", path)
	return nil, nil
}

// rebuild fills the rows from the documents and archives, in a new store, one that
// lost its rows, and one of format 2, whose log it reads as well. known are the
// documents whose rows are there: after a crash it continues with the others.
func (s store) rebuild(ctx context.Context, known []sqlite.Document, converting func(backup string)) error {
	b := s.b
	f, err := b.readFormat2(converting)
	if err != nil {
		return err
	}
	have := map[channels.Key]bool{}
	for _, doc := range known {
		have[doc.Key] = true
	}
	common := f.records()
	last := slices.IndexFunc(common, func(r sessions.Record) bool { return r.Store != nil })
	if err := s.restore(ctx, common[:max(last, 0)]); err != nil { // occurrences before the messages that name them
		return err
	}
	var batch []orphan
	add := func(o orphan) (err error) {
		if have[o.key] && o.damage == nil {
			return nil
		}
		have[o.key] = true
		o.changes = f.after(o)
		batch = append(batch, o)
		if len(batch) == 100 {
			err, batch = s.adopt(ctx, batch...), nil
		}
		return err
	}
	if err := b.orphans(f, add); err != nil {
		return err
	}
	if err := s.adopt(ctx, batch...); err != nil {
		return err
	}
	if last >= 0 {
		err = s.restore(ctx, common[last:])
	}
	all := make([]channels.Key, 2) // the zero key twice, so that its Changed is above 1
	for h, e := range b.Heads(ctx, rows.ByKey, nil) {
		err = errors.Join(err, e)
		all = append(all, h.Key)
	}
	if err == nil { // also for rows that have no document yet
		err = b.Outdate(ctx, true, all...)
	}
	if err == nil { // marks the end for reconcile, and leaves store.json to be written
		err = b.Written(ctx, []sqlite.Document{{Changed: 1, Size: 1}})
	}
	if err == nil {
		err = b.removeFormat2()
	}
	return err
}

// orphans yields a conversation for each document, each key in the log of format 2,
// and each archive whose name can be read. It may yield a key more than once.
func (b *backend) orphans(f *format2, yield func(orphan) error) error {
	documents, err := listFiles(b.dir, ".json", documentDir, jobDir)
	if err != nil {
		return err
	}
	for _, path := range documents {
		o, err := b.readOrphan(path)
		if err == nil && o != nil {
			err = yield(*o)
		}
		if err != nil {
			return err
		}
	}
	archives, err := listFiles(b.dir, ".jsonl", archiveDir, jobDir)
	keys := slices.Collect(maps.Keys(f.chats))
	for _, path := range archives {
		if k, ok := keyOf(strings.TrimSuffix(filepath.Base(path), ".jsonl")); ok {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		if err == nil {
			err = yield(orphan{key: k})
		}
	}
	return err
}

// adopt makes rows of orphans. It renames the files of those that the store refuses.
func (s store) adopt(ctx context.Context, list ...orphan) error {
	var records []sessions.Record
	for _, o := range list {
		own, err := s.b.recordsOf(o)
		if err != nil {
			return err
		}
		records = append(records, own...)
	}
	refused := s.restore(ctx, records)
	if isSystemError(refused) {
		return refused
	}
	for i, o := range list {
		var err error
		switch {
		case refused != nil && len(list) > 1: // find out which one
			err = s.adopt(ctx, list[i])
		case refused != nil || o.damage != nil:
			err = s.b.renameDamagedDocument(cmp.Or(o.path, s.b.archivePath(o.key)), o.key, errors.Join(refused, o.damage))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isSystemError reports whether an error comes from the disk or the caller, and not
// from the records.
func isSystemError(err error) bool {
	_, rows := errors.AsType[*driver.Error](err)
	_, path := errors.AsType[*fs.PathError](err)
	return rows || path || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrClosed)
}

func (s store) restore(ctx context.Context, records []sessions.Record) error {
	if len(records) == 0 {
		return nil
	}
	i := -1
	_, err := s.Restore(ctx, func() (sessions.Record, error) {
		i++
		if i == len(records) {
			return sessions.Record{}, io.EOF
		}
		return records[i], nil
	})
	return err
}

// recordsOf returns the records of a conversation, as far as its files have them.
func (b *backend) recordsOf(o orphan) ([]sessions.Record, error) {
	if o.key.IsZero() {
		return nil, nil
	}
	a, err := readArchive(b.archivePath(o.key))
	if errors.Is(err, errDamaged) {
		err = b.renameDamagedArchive(o.key)
	}
	if err != nil {
		return nil, err
	}
	h, c := head{Key: o.key}, a.content
	if a.head != nil {
		h = *a.head
	}
	if o.doc != nil {
		own := o.doc.content()
		h, c = o.doc.Head, own.over(c)
	}
	gone := false
	for i := range o.changes {
		h, gone = o.changes[i].head, o.changes[i].Gone
		c.apply(&o.changes[i])
	}
	empty := h.Seq+h.MessageSeq == 0 && h.Conversation == nil && len(c.Messages)+len(c.In)+len(c.Out) == 0
	if gone || empty {
		return nil, nil
	}
	if lost := h.repair(&c); lost > 0 {
		b.log.Error("messages of a conversation are lost", "key", h.Key.String(), "lost", lost, "kept", len(c.Messages))
	}
	return records(h, c), nil
}

// lostText replaces a message that could not be read.
const lostText = "[lost]"

// repair makes head and rows consistent after some could not be read, and returns how
// many messages are lost.
func (h *head) repair(c *content) (lost int) {
	n := len(c.Messages)
	if n == 0 && h.Conversation == nil {
		return 0
	}
	if h.Conversation == nil {
		h.Conversation = &conversation{}
	}
	v := h.Conversation
	first, last := h.MessageSeq+1, h.MessageSeq
	if n > 0 {
		first, last = c.Messages[0].Seq, c.Messages[n-1].Seq
		lost = max(0, v.Messages-n)
	}
	for i := 0; i < len(c.Messages); i++ {
		if seq := first + int64(i); c.Messages[i].Seq != seq {
			c.Messages = slices.Insert(c.Messages, i, sessions.Message{Seq: seq, Role: sessions.RoleUser, Content: lostText, At: c.Messages[i].At})
		}
	}
	h.MessageSeq = last
	var kept []sessions.Generation
	for _, g := range v.Generations {
		g.FirstSeq = min(max(g.FirstSeq, first), last+1)
		if len(kept) > 0 && kept[len(kept)-1].FirstSeq == g.FirstSeq {
			kept = kept[:len(kept)-1]
		}
		kept = append(kept, g)
	}
	from := int64(0)
	if n := len(kept); n > 0 {
		kept[0].FirstSeq, from = first, kept[n-1].FirstSeq-1
	}
	v.Generations = kept
	c.Summaries = slices.DeleteFunc(slices.Clone(c.Summaries), func(s sessions.Summary) bool {
		fits := len(kept) > 0 && s.CoversSeq > from && s.CoversSeq <= last
		if fits {
			from = s.CoversSeq
		}
		return !fits
	})
	return lost
}

// records returns a head and its rows in the form of a dump.
func records(h head, c content) (list []sessions.Record) {
	rec := &sessions.ConversationRecord{Key: h.Key, Seq: h.Seq, MessageSeq: h.MessageSeq, Summaries: c.Summaries}
	if v := h.Conversation; v != nil {
		rec.Title = v.Title
		rec.Created = v.Created
		rec.Updated = v.Updated
		rec.Settings = v.Settings
		rec.Owners = v.Owners
		rec.Generations = v.Generations
	}
	list = append(list, sessions.Record{Conversation: rec})
	for part := range slices.Chunk(c.Messages, 100) {
		list = append(list, sessions.Record{Messages: &sessions.MessagesRecord{Key: h.Key, Messages: part}})
	}
	seen := map[string]bool{}
	for _, r := range c.In {
		// The first row of a turn has its journal. A turn that lost its journal begins
		// anew.
		if steps := c.Journals[r.Turn]; r.State != rules.InWaiting || len(steps) == 0 {
			r.Turn = ""
		} else if !seen[r.Turn] {
			seen[r.Turn], r.Steps = true, steps
		}
		list = append(list, sessions.Record{Inbox: &r})
	}
	for _, o := range c.Out {
		list = append(list, sessions.Record{Outbox: &o})
	}
	return list
}

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

// stray is a conversation that the rows do not have, and what tells of it beside
// its archive.
type stray struct {
	key     channels.Key
	path    string       // of the document; "": there is none
	doc     *document    // nil: it is gone or damaged
	damage  error        // what is wrong with it
	changes []formerChat // that are not in it yet
}

// stray reads the document at path. It is nil if nothing of ours is there.
// Errors: sessions.NewerError.
func (b *backend) stray(path string) (*stray, error) {
	doc, err := readDocument(path)
	k, _ := keyOf(strings.TrimSuffix(filepath.Base(path), ".json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, errDamaged):
		return &stray{key: k, path: path, damage: err}, nil
	case err != nil:
		return nil, err
	case b.documentPath(doc.Key) == path:
		return &stray{key: doc.Key, path: path, doc: doc}, nil
	}
	if _, err := os.Lstat(b.archivePath(k)); !k.IsZero() && err == nil {
		return &stray{key: k, path: path, damage: errors.New("it is the document of another conversation")}, nil
	}
	b.log.Warn("a file in a folder of documents is not one of ours; it is left alone", "file", path)
	return nil, nil
}

// takeIn makes the rows of a new store, of one that lost them, and of one of
// format 2, which had none: from the documents and archives, and from its log. It
// goes on where a crash cut it short; known are the documents whose rows are there.
func (s *Store) takeIn(ctx context.Context, known []sqlite.Document) error {
	b := s.b
	f, err := b.readFormer()
	if err != nil {
		return err
	}
	have := map[channels.Key]bool{}
	for _, doc := range known {
		have[doc.Key] = true
	}
	others := f.records()
	of := slices.IndexFunc(others, func(r sessions.Record) bool { return r.Store != nil })
	if err := s.restore(ctx, others[:max(of, 0)]); err != nil { // occurrences come before what they fired
		return err
	}
	var batch []stray
	some := func(st stray) (err error) {
		if have[st.key] && st.damage == nil {
			return nil
		}
		have[st.key] = true
		st.changes = f.after(st)
		if batch = append(batch, st); len(batch) == 100 {
			err, batch = s.adopt(ctx, batch...), nil
		}
		return err
	}
	if err := b.strays(f, some); err != nil {
		return err
	}
	if err := s.adopt(ctx, batch...); err != nil {
		return err
	}
	if of >= 0 {
		err = s.restore(ctx, others[of:])
	}
	anew := make([]channels.Key, 2) // no key, twice
	for h, e := range b.Heads(ctx, rows.ByKey, nil) {
		err = errors.Join(err, e)
		anew = append(anew, h.Key)
	}
	if err == nil { // rows that were here have documents, too
		err = b.Outdate(ctx, true, anew...)
	}
	if err == nil { // Written is the marker for compare; Changed is more, so the file will be written
		err = b.Written(ctx, []sqlite.Document{{Changed: 1, Size: 1}})
	}
	if err == nil {
		err = b.removeFormer()
	}
	return err
}

// strays finds all conversations: by their documents, by the log of format 2, and
// by their archives, where the name tells of whom it is.
func (b *backend) strays(f *former, yield func(stray) error) error {
	documents, err := pathsWith(b.dir, ".json", documentDir, jobDir)
	if err != nil {
		return err
	}
	for _, path := range documents {
		st, err := b.stray(path)
		if err == nil && st != nil {
			err = yield(*st)
		}
		if err != nil {
			return err
		}
	}
	archives, err := pathsWith(b.dir, ".jsonl", archiveDir, jobDir)
	keys := slices.Collect(maps.Keys(f.chats))
	for _, path := range archives {
		if k, ok := keyOf(strings.TrimSuffix(filepath.Base(path), ".jsonl")); ok {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		if err == nil {
			err = yield(stray{key: k})
		}
	}
	return err
}

// adopt makes the rows of conversations that have none. What no conversation can be
// made of is set aside.
func (s *Store) adopt(ctx context.Context, list ...stray) error {
	var records []sessions.Record
	for _, st := range list {
		own, err := s.b.recordsOf(st)
		if err != nil {
			return err
		}
		records = append(records, own...)
	}
	why := s.restore(ctx, records)
	if ofSystem(why) {
		return why
	}
	for i, st := range list {
		var err error
		switch {
		case why != nil && len(list) > 1:
			err = s.adopt(ctx, list[i])
		case why != nil || st.damage != nil:
			err = s.b.setDocumentAside(cmp.Or(st.path, s.b.archivePath(st.key)), st.key, errors.Join(why, st.damage))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ofSystem reports whether an error is of the disk or the caller, and not of what
// is to be restored.
func ofSystem(err error) bool {
	_, rows := errors.AsType[*driver.Error](err)
	_, path := errors.AsType[*fs.PathError](err)
	return rows || path || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrClosed)
}

func (s *Store) restore(ctx context.Context, records []sessions.Record) error {
	if len(records) == 0 {
		return nil
	}
	i := -1
	_, err := s.Restore(ctx, func() (sessions.Record, error) {
		if i++; i == len(records) {
			return sessions.Record{}, io.EOF
		}
		return records[i], nil
	})
	return err
}

// recordsOf is all that is known of a conversation, as a copy of a store has it.
func (b *backend) recordsOf(st stray) ([]sessions.Record, error) {
	if st.key.IsZero() {
		return nil, nil
	}
	a, err := readArchive(b.archivePath(st.key))
	if errors.Is(err, errDamaged) {
		err = b.setArchiveAside(st.key)
	}
	if err != nil {
		return nil, err
	}
	h, c := head{Key: st.key}, a.content
	if a.head != nil {
		h = *a.head
	}
	if st.doc != nil {
		own := st.doc.content()
		h, c = st.doc.Head, own.over(c)
	}
	gone := false
	for i := range st.changes {
		h, gone = st.changes[i].head, st.changes[i].Gone
		c.apply(&st.changes[i])
	}
	if nothing := h.Seq+h.MessageSeq == 0 && h.Conversation == nil && len(c.Messages)+len(c.In)+len(c.Out) == 0; gone || nothing {
		return nil, nil
	}
	if lost := h.fit(&c); lost > 0 {
		b.log.Error("messages of a conversation are lost", "key", h.Key.String(), "lost", lost, "kept", len(c.Messages))
	}
	return records(h, c), nil
}

// lostText stands in the place of a message that could not be read.
const lostText = "[lost]"

// fit makes head and rows fit each other if some could not be read, and says how
// many messages those are.
func (h *head) fit(c *content) (lost int) {
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
		if g.FirstSeq = min(max(g.FirstSeq, first), last+1); len(kept) > 0 && kept[len(kept)-1].FirstSeq == g.FirstSeq {
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

// records are a head and its rows as a copy of a store has them.
func records(h head, c content) (list []sessions.Record) {
	rec := &sessions.ConversationRecord{Key: h.Key, Seq: h.Seq, MessageSeq: h.MessageSeq, Summaries: c.Summaries}
	if v := h.Conversation; v != nil {
		rec.Title, rec.Created, rec.Updated, rec.Settings, rec.Generations = v.Title, v.Created, v.Updated, v.Settings, v.Generations
	}
	list = append(list, sessions.Record{Conversation: rec})
	for part := range slices.Chunk(c.Messages, 100) {
		list = append(list, sessions.Record{Messages: &sessions.MessagesRecord{Key: h.Key, Messages: part}})
	}
	told := map[string]bool{}
	for _, r := range c.In {
		list = append(list, sessions.Record{Inbox: inRecord(r, c.Journals, told)})
	}
	for _, o := range c.Out {
		list = append(list, sessions.Record{Outbox: &o})
	}
	return list
}

// inRecord is an inbox row with the journal of its turn, if it is the first of
// that. A turn whose journal is lost begins anew.
func inRecord(r rows.In, journals map[string][]sessions.Step, told map[string]bool) *sessions.InboxRecord {
	if steps := journals[r.Turn]; r.State != rules.InWaiting || len(steps) == 0 {
		r.Turn = ""
	} else if !told[r.Turn] {
		told[r.Turn], r.Steps = true, steps
	}
	return &r
}

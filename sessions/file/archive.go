package file

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"sort"

	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// archiveLine is one line of an archive. Exactly one field is set: Message, or in
// archives of format 2 any, where the last line of a row counts.
type archiveLine struct {
	Message   *message               `json:"message,omitempty"`
	Inbox     *rows.In               `json:"inbox,omitempty"`
	Outbox    *sessions.OutboxRecord `json:"outbox,omitempty"`
	Summaries *[]sessions.Summary    `json:"summaries,omitempty"`
	Head      *head                  `json:"head,omitempty"`
}

// writeLines appends messages to an archive, which it opens with open if there are
// any. It returns the new end of the file and the seq of the last message.
func writeLines(open func() (*os.File, error), list iter.Seq2[sessions.Message, error]) (f *os.File, seq, end int64, err error) {
	var b *bufio.Writer
	var enc *json.Encoder
	for m, err := range list {
		if err == nil && f == nil {
			if f, err = open(); err == nil {
				b = bufio.NewWriterSize(f, 64<<10)
				enc = json.NewEncoder(b)
				enc.SetEscapeHTML(false)
			}
		}
		if err == nil {
			w := encodeMessage(m)
			err = enc.Encode(archiveLine{Message: &w})
		}
		if err != nil {
			return f, 0, 0, err
		}
		seq = m.Seq
	}
	if f == nil {
		return nil, 0, 0, nil
	}
	if err = b.Flush(); err == nil {
		end, err = f.Seek(0, io.SeekCurrent)
	}
	return f, seq, end, err
}

// archive is the content of an archive.
type archive struct {
	content
	head *head
	bad  int // unreadable lines
}

// beforeReading runs before each archive is read. Tests replace it to make that fail.
var beforeReading = func(path string) error { return nil }

// readArchive reads the archive at path and returns errDamaged with what it could
// read if some lines are damaged. An incomplete last line is not damage: a crash
// leaves one. Nor is a lack of permission, which the operator can repair: it is
// returned as it is.
func readArchive(path string) (*archive, error) {
	err := beforeReading(path)
	var data []byte
	if err == nil {
		data, err = readRegular(path)
	}
	if cause, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrPermission) {
		return nil, cause
	}
	if err = ignoreMissing(err); err != nil {
		return &archive{}, err
	}
	a := parseArchive(data[:bytes.LastIndexByte(data, '\n')+1])
	if a.bad > 0 {
		err = errDamaged
	}
	return a, err
}

func parseArchive(data []byte) *archive {
	a := &archive{}
	for line := range bytes.Lines(data) {
		var l archiveLine
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &l); err != nil {
			a.bad++
			continue
		}
		switch {
		case l.Message != nil:
			a.putMessage(l.Message.decode())
		case l.Inbox != nil:
			a.putIn(*l.Inbox)
		case l.Outbox != nil:
			a.putOut(*l.Outbox)
		case l.Summaries != nil:
			a.Summaries = *l.Summaries
		case l.Head != nil:
			a.head = l.Head
		default:
			a.bad++
		}
	}
	return a
}

// putMessage, putIn and putOut replace the row with the same seq, or add one.
func (c *content) putMessage(m sessions.Message) {
	c.Messages = put(c.Messages, m, func(m *sessions.Message) int64 { return m.Seq })
}

func (c *content) putIn(r rows.In) {
	c.In = put(c.In, r, func(r *rows.In) int64 { return r.Seq })
}

func (c *content) putOut(o sessions.OutboxRecord) {
	c.Out = put(c.Out, o, func(o *sessions.OutboxRecord) int64 { return o.Seq })
}

func put[T any](list []T, row T, seqOf func(*T) int64) []T {
	seq := seqOf(&row)
	i := sort.Search(len(list), func(i int) bool { return seqOf(&list[i]) >= seq })
	if i < len(list) && seqOf(&list[i]) == seq {
		list[i] = row
		return list
	}
	return slices.Insert(list, i, row)
}

// over merges the content of a document over that of its archive. The document has the
// newest rows and edits by hand, so its rows win.
func (c *content) over(archived content) content {
	all := archived
	for _, m := range c.Messages {
		all.putMessage(m)
	}
	for _, r := range c.In {
		all.putIn(r)
	}
	for _, o := range c.Out {
		all.putOut(o)
	}
	all.Summaries, all.Journals = c.Summaries, c.Journals
	return all
}

package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/memory"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// documentFormat is the form in which files are written. Development versions
// wrote format 1, which is no longer read.
const documentFormat = 2

// document is a conversation as it stands in its file, for people and for the
// next start. It shows the newest messages; all of them are in the archive.
type document struct {
	documentTop
	Messages []message `json:"messages"`
	documentRest

	// theirs are the fields of others, which the settings of Head keep.
	theirs foreign
}

// documentTop stands before the messages.
type documentTop struct {
	Format     int          `json:"format"`
	Key        channels.Key `json:"key"`
	Generation string       `json:"generation,omitempty"`
	Title      string       `json:"title,omitempty"`
	Created    time.Time    `json:"created,omitzero"`
	Updated    time.Time    `json:"updated,omitzero"`
	// Metadata is that of the settings in Head. When read, this one counts.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	Summary  string                     `json:"summary,omitempty"` // the newest; it does not count when read
}

// documentRest stands behind them.
type documentRest struct {
	Waiting    []rows.In               `json:"waiting,omitempty"`
	Deliveries []sessions.OutboxRecord `json:"deliveries,omitempty"` // not sent
	Journals   map[string][]step       `json:"journals,omitempty"`
	Summaries  []sessions.Summary      `json:"summaries,omitempty"`
	Head       memory.Head             `json:"head"`
	// LSN is the last commit that is in here.
	LSN int64 `json:"lsn"`
	// ArchiveBytes is how much of the archive belongs to it. What follows is
	// the rest of a writing that did not end.
	ArchiveBytes int64 `json:"archive_bytes"`
	// Sum tells a document that was edited by hand from one that was not. It is
	// written at the very end.
	Sum string `json:"sum,omitempty"`
}

func newDocument(h memory.Head, c memory.Content, st docState) *document {
	d := &document{documentTop: documentTop{Format: documentFormat, Key: h.Key}, Messages: mapped(c.Messages, newMessage)}
	d.documentRest = documentRest{
		Waiting: c.In, Deliveries: c.Out, Journals: mappedJournals(c.Journals, newStep), Summaries: c.Summaries,
		Head: h, LSN: st.lsn, ArchiveBytes: st.archived,
	}
	if v := h.Conversation; v != nil {
		d.Title, d.Created, d.Updated, d.Metadata = v.Title, v.Created, v.Updated, v.Settings.Metadata
		if n := len(v.Generations); n > 0 {
			d.Generation = v.Generations[n-1].ID
		}
	}
	if n := len(c.Summaries); n > 0 {
		d.Summary = c.Summaries[n-1].Text
	}
	if d.Messages == nil {
		d.Messages = []message{}
	}
	if v := h.Conversation; v != nil {
		settings := v.Settings
		d.showForeign(&settings)
		d.Metadata = settings.Metadata
	}
	return d
}

func (d *document) content() memory.Content {
	return memory.Content{
		Messages: mapped(d.Messages, message.plain), Summaries: mapped(d.Summaries, rules.Summary), In: d.Waiting, Out: d.Deliveries,
		Journals: mappedJournals(d.Journals, step.plain),
	}
}

func (d *document) state() docState { return docState{d.LSN, d.ArchiveBytes} }

// encode writes d with indents and without escapes that only HTML needs.
func (d *document) encode() ([]byte, error) {
	d.Sum = ""
	data, err := pretty(d.shown())
	data = d.theirs.behind(data)
	return foreign(sumOf(data)).behind(data), err
}

// sumOf is the end of an encoded document, as an object.
func sumOf(data []byte) string {
	return fmt.Sprintf("{\n  \"sum\": \"%08x\"\n}\n", crc32.Checksum(data, castagnoli))
}

// untouched reports whether data is a document as encode wrote it.
func untouched(data []byte) bool {
	i := bytes.LastIndex(data, []byte(",\n  \"sum\": "))
	if i < 0 {
		return false
	}
	rest := append(slices.Clone(data[:i]), "\n}\n"...)
	return bytes.Equal(foreign(sumOf(rest)).behind(rest), data)
}

var errDamaged = errors.New("damaged")

// newer says that the file at path is not damaged, but not for us.
func newer(path string, format int) error {
	return &sessions.NewerError{Path: path, Has: format, Knows: documentFormat}
}

// readDocument reads the document at path. Errors: errDamaged if it is none,
// sessions.NewerError, fs.ErrNotExist.
func readDocument(path string) (*document, error) {
	data, err := readRegular(path)
	if err != nil {
		return nil, err
	}
	d, err := parseDocument(data)
	if later, ok := errors.AsType[*sessions.NewerError](err); ok {
		return nil, newer(path, later.Has)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return d, nil
}

// readRegular reads the file at path. What is there and is no file, or cannot
// be read, is damage like any other: one conversation must not stop all of
// them. It waits for nobody, as the reading of a pipe does.
func readRegular(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return data, unreadable(err)
}

func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, unreadable(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: it is no file", errDamaged)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unreadable takes an error that belongs to one file for damage. Others, like
// too many open files, pass.
func unreadable(err error) error {
	for _, one := range []error{fs.ErrPermission, syscall.EIO, syscall.EISDIR, syscall.ELOOP, syscall.ENXIO, syscall.ENODEV} {
		if errors.Is(err, one) {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	return err
}

func parseDocument(data []byte) (*document, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // some editors put it before UTF-8
	if !json.Valid(data) {
		return nil, json.Unmarshal(data, &struct{}{}) // which says what is wrong
	}
	// A newer document may have any shape: its format alone is asked.
	if n := formatIn(data); n > documentFormat {
		return nil, newer("it", n)
	}
	d := &document{}
	theirs, err := d.decode(data)
	if err != nil {
		return nil, err
	}
	switch {
	case d.Format == 0:
		return nil, errors.New("it names no format, so it is not a document of this store; dragoman sessions import may take it in")
	case d.Format < documentFormat:
		return nil, fmt.Errorf("its format is %d, but this version knows only %d", d.Format, documentFormat)
	}
	switch {
	case d.Key.IsZero() || d.Key != d.Head.Key:
		return nil, errors.New("it has no key, or two")
	case d.ArchiveBytes < 0 || d.LSN < 0:
		return nil, errors.New("it has an impossible size")
	}
	d.edited(theirs)
	return d, checkContent(d.Key, d.Head, d.content())
}

// formatIn is the format that a JSON object says, or 0.
func formatIn(data []byte) (format int) {
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil || json.Unmarshal(all["format"], &format) != nil {
		return 0
	}
	return format
}

// edited takes over what may be changed by hand: the title, the metadata and
// the fields of others beside the messages count, and only those.
func (d *document) edited(theirs map[string]json.RawMessage) {
	v := d.Head.Conversation
	if v == nil {
		return
	}
	d.Title = rules.Text(d.Title)
	v.Title = d.Title
	v.Settings.Metadata = d.Metadata
	if theirs != nil {
		rules.SetForeign(&v.Settings, merge(theirs, rules.Foreign(v.Settings), sessions.FieldsName))
	}
	v.Settings = rules.Settings(v.Settings)
	d.Metadata = v.Settings.Metadata
}

// checkContent refuses what no store wrote.
func checkContent(k channels.Key, h memory.Head, c memory.Content) error {
	last := int64(0)
	for i, m := range c.Messages {
		if m.Seq <= last || i > 0 && m.Seq != last+1 || m.Seq > h.MessageSeq {
			return fmt.Errorf("message %d is in an impossible place", m.Seq)
		}
		last = m.Seq
	}
	for _, r := range c.In {
		if r.Inbound.Key != k || r.Seq <= 0 || r.Seq > h.Seq {
			return fmt.Errorf("inbox row %d is impossible", r.Seq)
		}
	}
	for _, o := range c.Out {
		if o.Key != k || o.Seq <= 0 || o.Seq > h.Seq || o.ID == "" {
			return fmt.Errorf("outbox row %d is impossible", o.Seq)
		}
	}
	return nil
}

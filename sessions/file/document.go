package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// documentFormat is the form in which files are written. Format 2 had a log and
// kept in the documents what is in the rows now; it is read. Development
// versions wrote format 1, which is not.
const (
	documentFormat = 3
	formerFormat   = 2
)

// document is a conversation as it stands in its file, for people and for a
// store that lost its rows. It shows the newest messages; all of them are in the
// archive.
type document struct {
	Format     int                        `json:"format"`
	Key        channels.Key               `json:"key"`
	Generation string                     `json:"generation,omitempty"`
	Title      string                     `json:"title,omitempty"`
	Created    time.Time                  `json:"created,omitzero"`
	Updated    time.Time                  `json:"updated,omitzero"`
	Metadata   map[string]json.RawMessage `json:"metadata,omitempty"`
	Summary    string                     `json:"summary,omitempty"` // the newest; it does not count when read
	Messages   []shown                    `json:"messages"`

	Waiting    []rows.In               `json:"waiting,omitempty"`
	Deliveries []sessions.OutboxRecord `json:"deliveries,omitempty"` // not sent
	Journals   map[string][]step       `json:"journals,omitempty"`
	Summaries  []sessions.Summary      `json:"summaries,omitempty"`
	Head       head                    `json:"head"`

	// Format 2 had these too. LSN is the last commit of its log that is in here.
	LSN          int64  `json:"lsn,omitempty"`
	ArchiveBytes int64  `json:"archive_bytes,omitempty"`
	Sum          string `json:"sum,omitempty"`

	// theirs are the fields of others at the top.
	theirs map[string]json.RawMessage
}

// head is what a document says of a key beside its rows.
type head struct {
	Key          channels.Key  `json:"key"`
	Seq          int64         `json:"seq,omitempty"`
	MessageSeq   int64         `json:"message_seq,omitempty"`
	Conversation *conversation `json:"conversation,omitempty"` // nil: queues only
}

type conversation struct {
	rows.Conversation
	Generations []sessions.Generation `json:"generations,omitempty"` // without LastSeq
}

// content are the rows that a document shows, or an archive has, by their seqs.
type content struct {
	Messages  []sessions.Message
	Summaries []sessions.Summary
	In        []rows.In
	Out       []sessions.OutboxRecord
	Journals  map[string][]sessions.Step
}

func newDocument(h head, c content) *document {
	d := &document{
		Format: documentFormat, Key: h.Key, Messages: mapped(c.Messages, func(m sessions.Message) shown { return shown(newMessage(m)) }),
		Waiting: c.In, Deliveries: c.Out, Journals: mappedJournals(c.Journals, newStep), Summaries: c.Summaries, Head: h,
	}
	if n := len(c.Summaries); n > 0 {
		d.Summary = c.Summaries[n-1].Text
	}
	if d.Messages == nil {
		d.Messages = []shown{}
	}
	if v := h.Conversation; v != nil {
		own := *v // without what is at the top
		d.showForeign(&own.Settings)
		d.Generation, d.Title, d.Created, d.Updated, d.Metadata = v.Generation, v.Title, v.Created, v.Updated, own.Settings.Metadata
		own.Title, own.Settings.Metadata = "", nil
		d.Head.Conversation = &own
	}
	return d
}

func (d *document) content() content {
	return content{
		Messages: mapped(d.Messages, func(s shown) sessions.Message { return message(s).plain() }), Summaries: mapped(d.Summaries, rules.Summary), In: d.Waiting, Out: d.Deliveries,
		Journals: mappedJournals(d.Journals, step.plain),
	}
}

// encode writes d.
func (d *document) encode() ([]byte, error) {
	data, err := json.Marshal(d)
	return indented(beside(data, d.theirs)), err
}

// indented is JSON with indents and without escapes that only HTML needs.
func indented(data []byte) []byte {
	var b bytes.Buffer
	_ = json.Indent(&b, readable(data), "", "  ") // it was just encoded
	b.WriteByte('\n')
	return b.Bytes()
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
	case d.Format < formerFormat:
		return nil, fmt.Errorf("its format is %d, but this version knows only %d and %d", d.Format, formerFormat, documentFormat)
	case d.Key.IsZero() || d.Key != d.Head.Key:
		return nil, errors.New("it has no key, or two")
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
func checkContent(k channels.Key, h head, c content) error {
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

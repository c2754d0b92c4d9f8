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

// documentFormat is the format that this version writes. It also reads format 2,
// which kept in documents and a log what is now in the rows. Only development
// versions wrote format 1; it is not read.
const (
	documentFormat = 3
	previousFormat = 2
)

// document is the file of a conversation, for people, and for Open when the rows are
// lost. It shows the newest messages; the archive has all of them.
type document struct {
	Format     int                        `json:"format"`
	Key        channels.Key               `json:"key"`
	Generation string                     `json:"generation,omitempty"`
	Title      string                     `json:"title,omitempty"`
	Created    time.Time                  `json:"created,omitzero"`
	Updated    time.Time                  `json:"updated,omitzero"`
	Metadata   map[string]json.RawMessage `json:"metadata,omitempty"`
	Summary    string                     `json:"summary,omitempty"` // the newest; not read back
	Messages   []documentMessage          `json:"messages"`

	Waiting    []rows.In               `json:"waiting,omitempty"`
	Deliveries []sessions.OutboxRecord `json:"deliveries,omitempty"` // not sent
	Journals   map[string][]step       `json:"journals,omitempty"`
	Summaries  []sessions.Summary      `json:"summaries,omitempty"`
	Head       head                    `json:"head"`

	// Format 2 also had these. LSN is the last commit in its log that this file
	// includes.
	LSN          int64  `json:"lsn,omitempty"`
	ArchiveBytes int64  `json:"archive_bytes,omitempty"`
	Sum          string `json:"sum,omitempty"`

	// foreign are the unknown fields at the top.
	foreign map[string]json.RawMessage
}

// head is what a document says of a key in addition to its rows.
type head struct {
	Key          channels.Key  `json:"key"`
	Seq          int64         `json:"seq,omitempty"`
	MessageSeq   int64         `json:"message_seq,omitempty"`
	Conversation *conversation `json:"conversation,omitempty"` // nil: queues only
}

// conversation is the row of a conversation as its document holds it, with the
// generations that are rows of their own elsewhere.
type conversation struct {
	rows.Conversation
	Generations []sessions.Generation `json:"generations,omitempty"` // without LastSeq
}

// content is the rows of a document or an archive, by seq.
type content struct {
	Messages  []sessions.Message
	Summaries []sessions.Summary
	In        []rows.In
	Out       []sessions.OutboxRecord
	Journals  map[string][]sessions.Step
}

func newDocument(h head, c content) *document {
	d := &document{
		Format: documentFormat, Key: h.Key, Messages: mapped(c.Messages, func(m sessions.Message) documentMessage { return documentMessage(encodeMessage(m)) }),
		Waiting: c.In, Deliveries: c.Out, Journals: mappedJournals(c.Journals, encodeStep), Summaries: c.Summaries, Head: h,
	}
	if n := len(c.Summaries); n > 0 {
		d.Summary = c.Summaries[n-1].Text
	}
	if d.Messages == nil {
		d.Messages = []documentMessage{}
	}
	if v := h.Conversation; v != nil {
		rest := *v // without the fields that the top shows
		d.liftForeign(&rest.Settings)
		d.Generation = v.Generation
		d.Title = v.Title
		d.Created = v.Created
		d.Updated = v.Updated
		d.Metadata = rest.Settings.Metadata
		rest.Title, rest.Settings.Metadata = "", nil
		d.Head.Conversation = &rest
	}
	return d
}

func (d *document) content() content {
	return content{
		Messages:  mapped(d.Messages, func(m documentMessage) sessions.Message { return message(m).decode() }),
		Summaries: mapped(d.Summaries, rules.Summary), In: d.Waiting, Out: d.Deliveries, Journals: mappedJournals(d.Journals, step.decode),
	}
}

func (d *document) encode() ([]byte, error) {
	data, err := json.Marshal(d)
	return indent(appendFields(data, d.foreign)), err
}

// indent formats valid JSON for people, without the escapes that only HTML needs.
func indent(data []byte) []byte {
	var b bytes.Buffer
	_ = json.Indent(&b, unescapeHTML(data), "", "  ")
	b.WriteByte('\n')
	return b.Bytes()
}

var errDamaged = errors.New("damaged")

// newerError reports that the file at path is not damaged but too new.
func newerError(path string, format int) error {
	return &sessions.NewerError{Path: path, Has: format, Knows: documentFormat}
}

// readDocument reads the document at path. Errors: errDamaged if it is not one,
// sessions.NewerError, fs.ErrNotExist.
func readDocument(path string) (*document, error) {
	data, err := readRegular(path)
	if err != nil {
		return nil, err
	}
	d, err := parseDocument(path, data)
	if _, newer := errors.AsType[*sessions.NewerError](err); err != nil && !newer {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	return d, err
}

func parseDocument(path string, data []byte) (*document, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // some editors put it before UTF-8
	if !json.Valid(data) {
		return nil, json.Unmarshal(data, &struct{}{}) // for the syntax error
	}
	// Read nothing else of a newer document: it may have any shape.
	if n := formatIn(data); n > documentFormat {
		return nil, newerError(path, n)
	}
	d := &document{}
	foreign, err := d.decode(data)
	if err != nil {
		return nil, err
	}
	switch {
	case d.Format == 0:
		return nil, errors.New("it names no format, so it is not a document of this store; dragoman sessions import may take it in")
	case d.Format < previousFormat:
		return nil, fmt.Errorf("its format is %d, but this version knows only %d and %d", d.Format, previousFormat, documentFormat)
	case d.Key.IsZero() || d.Key != d.Head.Key:
		return nil, errors.New("it has no key, or two")
	}
	d.applyTop(foreign)
	return d, checkContent(d.Key, d.Head, d.content())
}

// formatIn is the format that a JSON object names, or 0.
func formatIn(data []byte) (format int) {
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil || json.Unmarshal(all["format"], &format) != nil {
		return 0
	}
	return format
}

// applyTop copies what a person may edit at the top of a document into its head: the
// title, the metadata and the foreign fields, and nothing else.
func (d *document) applyTop(foreign map[string]json.RawMessage) {
	v := d.Head.Conversation
	if v == nil {
		return
	}
	d.Title = rules.Text(d.Title)
	v.Title = d.Title
	v.Settings.Metadata = d.Metadata
	if foreign != nil {
		rules.SetForeign(&v.Settings, mergeFields(foreign, rules.Foreign(v.Settings), sessions.FieldsName))
	}
	v.Settings = rules.Settings(v.Settings)
	d.Metadata = v.Settings.Metadata
}

// checkContent refuses rows that no store wrote.
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

// message is a message in a document or archive.
type message struct {
	sessions.Message
	ToolCalls []rules.Call `json:"tool_calls,omitempty"`
}

func encodeMessage(m sessions.Message) message {
	w := message{m, rules.Calls(m.ToolCalls)}
	w.Message.ToolCalls = nil
	return w
}

func (w message) decode() sessions.Message {
	m := w.Message
	m.ToolCalls = nil
	for _, c := range w.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	// The document indented these.
	m.Extra = rules.Fields(m.Extra)
	if m.Attached != nil {
		m.Attached = &sessions.Attached{By: m.Attached.By, Data: rules.JSON(m.Attached.Data)}
	}
	return m
}

// step is a step of a journal in a document.
type step struct {
	sessions.Step
	Message *message `json:"message,omitempty"`
}

func encodeStep(s sessions.Step) step {
	w := step{Step: s}
	if s.Message != nil {
		m := encodeMessage(*s.Message)
		w.Step.Message, w.Message = nil, &m
	}
	return w
}

func (w step) decode() sessions.Step {
	s := w.Step
	s.Message = nil
	if w.Message != nil {
		m := w.Message.decode()
		s.Message = &m
	}
	return s
}

// mapped returns f of each element, nil for none.
func mapped[A, B any](list []A, f func(A) B) []B {
	var all []B
	for _, x := range list {
		all = append(all, f(x))
	}
	return all
}

func mappedJournals[A, B any](journals map[string][]A, f func(A) B) map[string][]B {
	all := make(map[string][]B, len(journals))
	for turn, steps := range journals {
		all[turn] = mapped(steps, f)
	}
	return all
}

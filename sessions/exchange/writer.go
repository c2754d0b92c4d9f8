package exchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Writer writes the records of a store's Dump. JSONL takes all of them; the other
// formats leave out the queues and the records of no conversation.
type Writer interface {
	Put(r sessions.Record) error
	// Close writes the end of the file. It does not close the underlying writer.
	Close() error
}

// WriterOptions say how to write.
type WriterOptions struct {
	// Zone is the time zone of Markdown. Default: the local one.
	Zone *time.Location
	// List makes JSON a list of documents.
	List bool
}

// NewWriter writes to w in format. JSON and Markdown take the conversations one after
// the other: all records of one before the first of the next. Put refuses messages that
// do not belong to the conversation before them.
func NewWriter(w io.Writer, format Format, o WriterOptions) (Writer, error) {
	switch format {
	case JSON:
		return &orderedWriter{Writer: &documentWriter{w: w, list: o.List}}, nil
	case JSONL:
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return &recordWriter{enc}, nil
	case Markdown:
		return &orderedWriter{Writer: &markdownWriter{w: w, zone: cmp.Or(o.Zone, time.Local)}}, nil
	}
	return nil, fmt.Errorf("exchange: nothing is written as %q", format)
}

// orderedWriter checks the order that the formats for people depend on: without it, a
// message would be written into another conversation.
type orderedWriter struct {
	Writer
	open channels.Key // the conversation whose messages may follow
}

func (o *orderedWriter) Put(r sessions.Record) error {
	if r.Conversation != nil {
		o.open = r.Conversation.Key
	}
	if r.Messages != nil && r.Messages.Key != o.open {
		return fmt.Errorf("exchange: write messages of %s: they do not follow their conversation", r.Messages.Key)
	}
	return o.Writer.Put(r)
}

// recordWriter writes the records as they are, one per line.
type recordWriter struct{ enc *json.Encoder }

func (l *recordWriter) Put(r sessions.Record) error { return l.enc.Encode(r) }
func (l *recordWriter) Close() error                { return nil }

// documentWriter writes JSON for people and programs, with the field names that other
// programs use.
type documentWriter struct {
	w    io.Writer
	list bool

	head     *sessions.ConversationRecord // of the document that is open
	messages int                          // written into it
	count    int                          // documents begun
}

func (d *documentWriter) Put(r sessions.Record) error {
	switch {
	case r.Conversation != nil:
		if err := d.end(); err != nil {
			return err
		}
		return d.begin(*r.Conversation)
	case r.Messages != nil:
		if d.head == nil || d.head.Key != r.Messages.Key {
			return errLost(r.Messages)
		}
		for _, m := range r.Messages.Messages {
			if err := d.message(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// errLost is the error for messages that do not follow their conversation.
func errLost(r *sessions.MessagesRecord) error {
	return fmt.Errorf("exchange: write %s: its messages come without it", r.Key)
}

func (d *documentWriter) Close() error {
	if err := d.end(); err != nil {
		return err
	}
	switch {
	case !d.list:
		return nil
	case d.count == 0:
		return d.text("[]\n")
	}
	return d.text("]\n")
}

func (d *documentWriter) text(s string) error {
	_, err := io.WriteString(d.w, s)
	return err
}

func (d *documentWriter) begin(head sessions.ConversationRecord) error {
	head.Owners = nil // they follow from the senders of the messages
	start := ""
	if d.list {
		start = "[\n"
		if d.count > 0 {
			start = ",\n"
		}
	}
	key, err := encode(head.Key, "", "")
	if err != nil {
		return err
	}
	d.head = &head
	d.messages = 0
	d.count++
	return d.text(start + "{\n  \"key\": " + string(key) + ",\n  \"messages\": [")
}

func (d *documentWriter) message(m sessions.Message) error {
	v, err := outMessage(m)
	var raw []byte
	if err == nil {
		raw, err = encode(v, "    ", "  ")
	}
	if err != nil {
		return fmt.Errorf("exchange: write message %d of %s: %w", m.Seq, d.head.Key, err)
	}
	start := ",\n    "
	d.messages++
	if d.messages == 1 {
		start = "\n    "
	}
	return d.text(start + string(raw))
}

// end writes the fields after the messages.
func (d *documentWriter) end() error {
	if d.head == nil {
		return nil
	}
	h := *d.head
	d.head = nil
	h.Created, h.Updated = h.Created.UTC(), h.Updated.UTC()
	foreign := rules.Foreign(h.Settings)
	rules.SetForeign(&h.Settings, nil)
	tail := struct {
		Key     any       `json:"key,omitempty"` // already written
		Summary string    `json:"summary"`
		Created time.Time `json:"created"`
		Updated time.Time `json:"updated"`
		sessions.ConversationRecord
	}{Created: h.Created, Updated: h.Updated, ConversationRecord: h}
	if n := len(h.Summaries); n > 0 {
		tail.Summary = h.Summaries[n-1].Text
	}
	raw, err := encode(tail, "", "  ")
	if len(foreign) > 0 && err == nil { // back to the top, except under names of ours
		delete(foreign, "key")
		delete(foreign, "messages")
		if err = json.Unmarshal(raw, &foreign); err == nil {
			raw, err = encode(foreign, "", "  ")
		}
	}
	if err != nil {
		return fmt.Errorf("exchange: write %s: %w", h.Key, err)
	}
	end := "],"
	if d.messages > 0 {
		end = "\n  ],"
	}
	return d.text(end + strings.TrimPrefix(string(raw), "{") + "\n") // the object's "{" is the document's
}

// outMessage returns m with the names that OpenAI and PicoClaw use. Extra replaces our
// fields of the same names, because what was imported has more in it.
func outMessage(m sessions.Message) (any, error) {
	files := slices.Clone(m.Attachments)
	for i := range files {
		files[i].Ref = "" // it may hold the key that opens a file
	}
	ours := struct {
		sessions.Message
		Calls []rules.Call          `json:"tool_calls,omitempty"`
		Files []channels.Attachment `json:"attachments,omitempty"`
		Seq   int64                 `json:"seq,omitempty"`
		At    time.Time             `json:"at,omitzero"`
		Extra any                   `json:"extra,omitempty"`
	}{m, rules.Calls(m.ToolCalls), files, m.Seq, m.At.UTC(), nil}
	if len(m.Extra) == 0 {
		return ours, nil
	}
	var all fieldSet
	raw, err := encode(ours, "", "")
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	for name, value := range m.Extra {
		if name != "role" && name != "seq" && err == nil {
			all[name] = value
		}
	}
	return all, err
}

// encode is json.MarshalIndent without the escapes for <, > and &.
func encode(v any, prefix, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, indent)
	err := enc.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

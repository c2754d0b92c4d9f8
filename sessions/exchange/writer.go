package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Writer takes the records of a store's Dump. Each format leaves out what it
// has no place for; JSONL has a place for everything.
type Writer interface {
	Put(r sessions.Record) error
	// Close writes what ends the file. It does not close what is written to.
	Close() error
}

// WriterOptions say how to write.
type WriterOptions struct {
	// Zone is where Markdown tells times. Default: the local zone.
	Zone *time.Location
	// List makes JSON a list of documents, of any number.
	List bool
}

// NewWriter writes to w in format. JSON and Markdown take the conversations
// one after the other: all records of one before the first of the next.
func NewWriter(w io.Writer, format Format, o WriterOptions) (Writer, error) {
	if o.Zone == nil {
		o.Zone = time.Local
	}
	switch format {
	case JSON:
		return &document{w: w, list: o.List}, nil
	case JSONL:
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return &recordLines{enc}, nil
	case Markdown:
		return &page{w: w, zone: o.Zone}, nil
	}
	return nil, fmt.Errorf("exchange: nothing is written as %q", format)
}

type recordLines struct{ enc *json.Encoder }

func (l *recordLines) Put(r sessions.Record) error { return l.enc.Encode(r) }
func (l *recordLines) Close() error                { return nil }

// document writes conversations for people and programs to read, with the
// names of fields that others use for the same things.
type document struct {
	w    io.Writer
	list bool

	head     *sessions.ConversationRecord // of the document that is open
	messages int                          // written into it
	count    int                          // documents begun
}

func (d *document) Put(r sessions.Record) error {
	switch {
	case r.Conversation != nil:
		if err := d.end(); err != nil {
			return err
		}
		return d.begin(*r.Conversation)
	case r.Messages != nil:
		if d.head == nil || d.head.Key != r.Messages.Key {
			return fmt.Errorf("exchange: write %s: its messages come without it", r.Messages.Key)
		}
		for _, m := range r.Messages.Messages {
			if err := d.message(m); err != nil {
				return err
			}
		}
	}
	return nil // queues and all that belongs to no conversation
}

func (d *document) Close() error {
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

func (d *document) text(s string) error {
	_, err := io.WriteString(d.w, s)
	return err
}

func (d *document) begin(head sessions.ConversationRecord) error {
	start := ""
	if d.list {
		start = "[\n"
		if d.count > 0 {
			start = ",\n"
		}
	}
	key, err := encode(head.Key)
	if err != nil {
		return err
	}
	d.head, d.messages, d.count = &head, 0, d.count+1
	return d.text(start + "{\n  \"key\": " + string(key) + ",\n  \"messages\": [")
}

func (d *document) message(m sessions.Message) error {
	raw, err := encodeMessage(m)
	if err != nil {
		return fmt.Errorf("exchange: write message %d of %s: %w", m.Seq, d.head.Key, err)
	}
	var b bytes.Buffer
	if d.messages > 0 {
		b.WriteByte(',')
	}
	d.messages++
	b.WriteString("\n    ")
	if err := json.Indent(&b, raw, "    ", "  "); err != nil {
		return fmt.Errorf("exchange: write message %d of %s: %w", m.Seq, d.head.Key, err)
	}
	_, err = d.w.Write(b.Bytes())
	return err
}

// end writes what stands after the messages.
func (d *document) end() error {
	if d.head == nil {
		return nil
	}
	h := d.head
	d.head = nil
	var o object
	summary := ""
	if n := len(h.Summaries); n > 0 {
		summary = h.Summaries[n-1].Text
	}
	o.put("summary", summary)
	o.put("created", h.Created.UTC())
	o.put("updated", h.Updated.UTC())
	o.putIf(h.Title != "", "title", h.Title)
	settings, unknown := h.Settings, rules.Foreign(h.Settings)
	rules.SetForeign(&settings, nil)
	o.putIf(!rules.IsZeroSettings(settings), "settings", settings)
	o.putIf(h.Seq != 0, "seq", h.Seq)
	o.putIf(h.MessageSeq != 0, "message_seq", h.MessageSeq)
	o.putIf(len(h.Generations) > 0, "generations", h.Generations)
	o.putIf(len(h.Summaries) > 0, "summaries", h.Summaries)
	o.rest(unknown)
	if o.err != nil {
		return fmt.Errorf("exchange: write %s: %w", h.Key, o.err)
	}
	var b bytes.Buffer
	if d.messages > 0 {
		b.WriteString("\n  ")
	}
	b.WriteString("],")
	if err := json.Indent(&b, o.bytes(), "", "  "); err != nil {
		return fmt.Errorf("exchange: write %s: %w", h.Key, err)
	}
	// The object's own "{" stands at the beginning of the document.
	text := bytes.Replace(b.Bytes(), []byte("],{\n"), []byte("],\n"), 1)
	if _, err := d.w.Write(text); err != nil {
		return err
	}
	return d.text("\n")
}

// encodeMessage writes m with the names that OpenAI and PicoClaw use, and its
// unknown fields where they were.
func encodeMessage(m sessions.Message) ([]byte, error) {
	extra := maps.Clone(m.Extra)
	var o object
	// original writes an imported field as it was, where ours tells less.
	original := func(name string, set bool, ours any) {
		if raw, ok := extra[name]; ok {
			delete(extra, name)
			o.put(name, raw)
			return
		}
		o.putIf(set, name, ours)
	}
	o.put("role", m.Role)
	original("content", true, m.Content)
	original("name", m.Name != "", m.Name)
	original("tool_calls", len(m.ToolCalls) > 0, wireCalls(m.ToolCalls))
	original("tool_call_id", m.ToolCallID != "", m.ToolCallID)
	o.putIf(m.Seq != 0, "seq", m.Seq)
	original("at", !m.At.IsZero(), m.At.UTC())
	original("sender", m.Sender != "", m.Sender)
	original("turn", m.Turn != "", m.Turn)
	original("model", m.Model != "", m.Model)
	original("usage", m.Usage != nil, m.Usage)
	original("synthetic", m.Synthetic, m.Synthetic)
	original("summary", m.Summary, m.Summary)
	original("failed", m.Failed, m.Failed)
	original("attached", m.Attached != nil, m.Attached)
	original("attachments", len(m.Attachments) > 0, withoutRefs(m.Attachments))
	o.rest(extra)
	return o.bytes(), o.err
}

type outCall struct {
	ID       string      `json:"id"`
	Type     string      `json:"type"`
	Function outFunction `json:"function"`
}

type outFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func wireCalls(calls []sessions.ToolCall) []outCall {
	out := make([]outCall, len(calls))
	for i, c := range calls {
		out[i] = outCall{ID: c.ID, Type: "function", Function: outFunction{c.Name, c.Arguments}}
	}
	return out
}

// object builds a JSON object whose fields stand in the order of the calls. A
// name that was written is not written again.
type object struct {
	b    bytes.Buffer
	seen map[string]bool
	err  error
}

func (o *object) put(name string, value any) {
	if o.seen[name] || o.err != nil {
		return
	}
	if o.seen == nil {
		o.seen = map[string]bool{}
	}
	o.seen[name] = true
	label, err := encode(name)
	raw, verr := encode(value)
	if o.err = errors.Join(err, verr); o.err != nil {
		return
	}
	o.b.WriteByte("{,"[min(1, o.b.Len())])
	o.b.Write(label)
	o.b.WriteByte(':')
	o.b.Write(raw)
}

func (o *object) putIf(set bool, name string, value any) {
	if set {
		o.put(name, value)
	}
}

// rest writes what is left, sorted by name.
func (o *object) rest(m map[string]json.RawMessage) {
	for _, name := range fields(m) {
		o.put(name, m[name])
	}
}

func (o *object) bytes() []byte {
	if o.b.Len() == 0 {
		return []byte("{}")
	}
	return append(bytes.Clone(o.b.Bytes()), '}')
}

// encode is json.Marshal with <, > and & as people write them.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// withoutRefs leaves out what may hold the key that opens a file.
func withoutRefs(files []channels.Attachment) []channels.Attachment {
	files = slices.Clone(files)
	for i := range files {
		files[i].Ref = ""
	}
	return files
}

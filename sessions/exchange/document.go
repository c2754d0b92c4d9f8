package exchange

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// documents reads conversations in JSON: one document, several one after the
// other or in a list, or the bare list of one conversation's messages.
// PicoClaw's, OpenAI's and our own documents differ only in which fields they
// have.
type documents struct {
	dec    *json.Decoder
	reader *Reader
	format Format // of documents that no other program is known by
	inList bool
	count  int
}

func newDocuments(in io.Reader, r *Reader) *documents {
	return &documents{dec: json.NewDecoder(in), reader: r, format: r.format}
}

func (d *documents) next() (*talk, error) {
	t, err := d.read()
	if err == nil {
		d.count++
		return t, nil
	}
	if err == io.EOF && d.count > 0 {
		return nil, io.EOF
	}
	if err == io.EOF {
		err = fmt.Errorf("%w: there is no conversation in it", ErrFormat)
	}
	if errors.Is(err, errEncoding) { // which says where
		return nil, fmt.Errorf("exchange: read: %w", err)
	}
	return nil, fmt.Errorf("exchange: read at byte %d: %w", d.dec.InputOffset(), broken(err))
}

// inside is for an end of the input where something has to follow.
func inside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// broken marks what encoding/json says as a fault of the content.
func broken(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, ErrFormat):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: the file ends in the middle", ErrFormat)
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}

func (d *documents) read() (*talk, error) {
	if d.inList {
		return d.element()
	}
	token, err := d.dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return d.document()
	case json.Delim('['):
		d.inList = true
		return d.element()
	}
	return nil, fmt.Errorf("%w: neither an object nor a list", ErrFormat)
}

// element reads from a list: a document, or all messages if the first element
// is one.
func (d *documents) element() (*talk, error) {
	if !d.dec.More() {
		d.inList = false
		if _, err := d.dec.Token(); err != nil {
			return nil, inside(err)
		}
		return d.read()
	}
	if token, err := d.dec.Token(); err != nil {
		return nil, inside(err)
	} else if token != json.Delim('{') {
		return nil, fmt.Errorf("%w: the list's elements are no objects", ErrFormat)
	}
	t := d.reader.newTalk()
	f, listed, err := d.object(t)
	if err != nil {
		return nil, inside(err)
	}
	if f["role"] == nil || listed {
		return t, d.settle(t, f, listed)
	}
	if err := t.put(entryOf(f)); err != nil {
		return nil, err
	}
	if err := t.list(d.dec); err != nil {
		return nil, err
	}
	d.inList = false
	return t, nil
}

// list reads messages up to the end of the list that dec stands in.
func (t *talk) list(dec *json.Decoder) error {
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("message %d: %w", t.count+1, broken(inside(err)))
		}
		if err := t.put(decodeEntry(raw)); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return inside(err)
}

// put adds what was decoded.
func (t *talk) put(e entry, err error) error {
	if err != nil {
		return fmt.Errorf("message %d: %w", t.count+1, err)
	}
	return t.add(e)
}

// document reads an object whose "{" was read.
func (d *documents) document() (*talk, error) {
	t := d.reader.newTalk()
	f, listed, err := d.object(t)
	if err != nil {
		return nil, inside(err)
	}
	return t, d.settle(t, f, listed)
}

// object reads the rest of an object. Its messages go to t one by one, unless
// it is a message itself; listed says that it had some.
func (d *documents) object(t *talk) (f fieldSet, listed bool, err error) {
	f = fieldSet{}
	for d.dec.More() {
		token, err := d.dec.Token()
		if err != nil {
			return nil, false, err
		}
		name, _ := token.(string)
		if name != "messages" || d.inList && f["role"] != nil {
			if _, twice := f[name]; twice {
				return nil, false, twiceError(name)
			}
			var raw json.RawMessage
			if err := d.dec.Decode(&raw); err != nil {
				return nil, false, err
			}
			f[name] = raw
			continue
		}
		if token, err = d.dec.Token(); err != nil {
			return nil, false, err
		}
		switch {
		case token == nil: // null: a conversation without messages
		case token != json.Delim('['):
			return nil, false, fmt.Errorf("%w: messages is no list", ErrFormat)
		case listed:
			return nil, false, twiceError(name)
		default:
			if err := t.list(d.dec); err != nil {
				return nil, false, err
			}
		}
		listed = true
	}
	_, err = d.dec.Token()
	return f, listed, err
}

// settle makes a conversation of an object that was read.
func (d *documents) settle(t *talk, f fieldSet, listed bool) error {
	switch {
	case isStoreFile(f):
		return errOwnStore
	case newerFormat(f) != nil:
		return newerFormat(f)
	case !listed:
		return fmt.Errorf("%w: the object has no messages", ErrFormat)
	}
	d.reader.format = cmp.Or(t.dialect(f), d.format)
	return t.fields(f)
}

// fields takes what stands beside the messages.
func (t *talk) fields(f fieldSet) error {
	if raw := f["key"]; raw != nil && string(raw) != "null" && !f.take("key", &t.key) {
		return fmt.Errorf("%w: the key is no text", ErrFormat)
	}
	h := &t.head
	f.take("summary", &t.summary)
	f.take("title", &h.Title)
	f.take("seq", &h.Seq)
	f.take("message_seq", &h.MessageSeq)
	takeOurs(f, "settings", &h.Settings, func(s sessions.Settings) bool { return !rules.IsZeroSettings(s) })
	// S1's documents carry the prompt beside the messages.
	f.take("system_prompt", &h.Settings.System)
	for _, time := range []struct {
		name string
		into *time.Time
	}{
		{"created", &h.Created},
		{"created_at", &h.Created},
		{"createdAt", &h.Created},
		{"updated", &h.Updated},
		{"updated_at", &h.Updated},
		{"updatedAt", &h.Updated},
		{"lastActiveAt", &h.Updated},
	} {
		if at := moment(f[time.name]); !at.IsZero() && time.into.IsZero() {
			*time.into = at
			delete(f, time.name)
		}
	}
	takeOurs(f, "generations", &h.Generations, func(all []sessions.Generation) bool {
		return !slices.ContainsFunc(all, func(g sessions.Generation) bool { return g.ID == "" })
	})
	takeOurs(f, "summaries", &h.Summaries, func(all []sessions.Summary) bool {
		return !slices.ContainsFunc(all, func(s sessions.Summary) bool { return s.CoversSeq == 0 })
	})
	return t.keepFields(f)
}

// takeOurs takes what is ours of an object or a list beside the messages. If
// there is more in it, all of it stays in the set, as does what others call so.
func takeOurs[T any](f fieldSet, name string, into *T, ours func(T) bool) {
	var v T
	whole, err := exactly(f[name], &v)
	if err == nil && (whole || ours(v)) {
		*into = v
	}
	if whole {
		delete(f, name)
	}
}

// twiceError refuses an object of which one of two values would be lost.
func twiceError(name string) error {
	return fmt.Errorf("%w: its %q stands there twice", ErrFormat, clip(name))
}

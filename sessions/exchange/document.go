package exchange

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"dragoman/sessions"
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

func (d *documents) next() (*talk, error) {
	t, err := d.read()
	switch {
	case err == nil:
		d.count++
		return t, nil
	case err == io.EOF && d.count > 0:
		return nil, io.EOF
	case err == io.EOF:
		err = fmt.Errorf("%w: there is no conversation in it", ErrFormat)
	}
	return nil, fmt.Errorf("exchange: read at byte %d: %w", d.dec.InputOffset(), broken(err))
}

// broken marks an error of encoding/json as a fault of the content.
func broken(err error) error {
	var syntax *json.SyntaxError
	switch {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: the file ends in the middle", ErrFormat)
	case errors.As(err, &syntax) && !errors.Is(err, ErrFormat):
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}

// read reads the next conversation, and returns io.EOF only after the last.
func (d *documents) read() (*talk, error) {
	for {
		token, err := d.dec.Token()
		if err == io.EOF && d.inList {
			return nil, io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		switch {
		case token == json.Delim('[') && !d.inList:
			d.inList = true
		case token == json.Delim(']'):
			d.inList = false
		case token == json.Delim('{'):
			t := d.reader.newTalk()
			t.checkpoints = true
			if err := d.object(t); err != nil {
				return nil, broken(err)
			}
			return t, nil
		default:
			return nil, fmt.Errorf("%w: neither an object nor a list of objects", ErrFormat)
		}
	}
}

// object reads the rest of an object. Its messages go to t one by one. If it is
// itself a message in a list, the list is the conversation.
func (d *documents) object(t *talk) error {
	f, listed := fieldSet{}, false
	for d.dec.More() {
		token, err := d.dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if name == "messages" && (!d.inList || f["role"] == nil) {
			listed = true
			err = t.list(d.dec)
		} else {
			var raw json.RawMessage
			if err = d.dec.Decode(&raw); !utf8.Valid(raw) {
				return errEncoding
			}
			f[name] = raw
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.dec.Token(); err != nil {
		return err
	}
	switch {
	case d.inList && f["role"] != nil && !listed:
		d.inList = false
		if err := t.put(entryOf(f)); err != nil {
			return err
		}
		return t.elements(d.dec)
	case isStoreFile(f):
		return errOwnStore
	case !listed:
		return fmt.Errorf("%w: the object has no messages", ErrFormat)
	}
	d.reader.format = cmp.Or(t.dialect(f), d.format)
	return t.fields(f)
}

// list reads a list of messages, or null.
func (t *talk) list(dec *json.Decoder) error {
	switch token, err := dec.Token(); {
	case err != nil || token == nil:
		return err
	case token != json.Delim('['):
		return fmt.Errorf("%w: messages is not a list", ErrFormat)
	}
	return t.elements(dec)
}

// elements reads messages up to the end of the list.
func (t *talk) elements(dec *json.Decoder) error {
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("message %d: %w", t.raw+1, broken(err))
		}
		if err := t.put(decodeEntry(raw)); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// put adds a decoded message.
func (t *talk) put(e entry, err error) error {
	if err != nil {
		return fmt.Errorf("message %d: %w", t.raw+1, err)
	}
	return t.add(e)
}

// fields takes the fields next to the messages. Those that we do not know are kept
// in one value of the metadata.
func (t *talk) fields(f fieldSet) error {
	if raw := f["key"]; raw != nil && !take(f, "key", &t.key) {
		return fmt.Errorf("%w: the key is not text", ErrFormat)
	}
	h := &t.head
	take(f, "summary", &t.summary)
	take(f, "title", &h.Title)
	take(f, "seq", &h.Seq)
	take(f, "message_seq", &h.MessageSeq)
	take(f, "settings", &h.Settings)
	take(f, "system_prompt", &h.Settings.System) // Terrarium's
	take(f, "generations", &h.Generations)
	take(f, "summaries", &h.Summaries)
	for into, names := range map[*time.Time][]string{
		&h.Created: {"created", "created_at", "createdAt"},
		&h.Updated: {"updated", "updated_at", "updatedAt", "lastActiveAt"},
	} {
		for _, name := range names {
			if at := moment(f[name]); !at.IsZero() && into.IsZero() {
				*into = at
				delete(f, name)
			}
		}
	}
	if len(f) == 0 {
		return nil
	}
	return t.set(sessions.FieldsName, f)
}

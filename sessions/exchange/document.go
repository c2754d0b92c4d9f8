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

// documentReader reads conversations in JSON: one document, several one after the
// other or in a list, or only the list of one conversation's messages. PicoClaw's,
// OpenAI's and our own documents differ only in which fields they have.
type documentReader struct {
	*Reader
	dec    *json.Decoder
	as     Format // unless dialect recognizes another
	inList bool
}

func (d *documentReader) read(emit Emit) error {
	for count := 0; ; {
		token, err := d.dec.Token()
		switch {
		case err == io.EOF && !d.inList && count > 0:
			return nil
		case err == io.EOF && !d.inList:
			err = fmt.Errorf("%w: there is no conversation in it", ErrFormat)
		case err != nil:
		case token == json.Delim('[') && !d.inList:
			d.inList = true
			continue
		case token == json.Delim(']'):
			d.inList = false
			continue
		case token == json.Delim('{'):
			count++
			if err := d.conversation(emit, d.object); err != nil {
				return err
			}
			continue
		default:
			err = fmt.Errorf("%w: neither an object nor a list of objects", ErrFormat)
		}
		return d.at(err)
	}
}

// at adds the place of a mistake to err.
func (d *documentReader) at(err error) error {
	return fmt.Errorf("exchange: read at byte %d: %w", d.dec.InputOffset(), asFormatError(err))
}

// asFormatError marks an error of encoding/json as ErrFormat.
func asFormatError(err error) error {
	var syntax *json.SyntaxError
	switch {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: the file ends in the middle", ErrFormat)
	case errors.As(err, &syntax) && !errors.Is(err, ErrFormat):
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}

// object reads the rest of an object and adds its messages to t one by one. If the
// object is itself a message in a list, the list is the conversation.
func (d *documentReader) object(t *conversation) (err error) {
	t.checkpoints = true
	f, listed := fieldSet{}, false
	for err == nil && d.dec.More() {
		var token json.Token
		if token, err = d.dec.Token(); err != nil {
			break
		}
		name, _ := token.(string)
		if name == "messages" && (!d.inList || f["role"] == nil) {
			listed = true
			err = d.list(t)
			continue
		}
		var raw json.RawMessage
		err = d.dec.Decode(&raw)
		if !utf8.Valid(raw) {
			err = errEncoding
		}
		f[name] = raw
	}
	if err == nil {
		_, err = d.dec.Token()
	}
	switch {
	case err != nil:
	case d.inList && f["role"] != nil && !listed:
		d.inList = false
		if err = t.addDecoded(entryOf(f)); err == nil {
			err = d.elements(t)
		}
	case isStoreFile(f):
		err = errOwnStore
	case !listed && unreadExport(f) != nil:
		err = unreadExport(f)
	case !listed:
		err = fmt.Errorf("%w: the object has no messages", ErrFormat)
	default:
		d.format = cmp.Or(t.dialect(f), d.as)
		err = t.takeFields(f)
	}
	if err != nil {
		return d.at(err)
	}
	return nil
}

// list reads a list of messages, or null.
func (d *documentReader) list(t *conversation) error {
	switch token, err := d.dec.Token(); {
	case err != nil || token == nil:
		return err
	case token != json.Delim('['):
		return fmt.Errorf("%w: messages is not a list", ErrFormat)
	}
	return d.elements(t)
}

// elements reads messages up to the end of the list.
func (d *documentReader) elements(t *conversation) error {
	for d.dec.More() {
		var raw json.RawMessage
		if err := d.dec.Decode(&raw); err != nil {
			return fmt.Errorf("message %d: %w", t.raw+1, asFormatError(err))
		}
		if err := t.addDecoded(decodeEntry(raw)); err != nil {
			return err
		}
	}
	_, err := d.dec.Token()
	return err
}

// takeFields takes the fields next to the messages. One value of the metadata keeps
// the unknown ones.
func (t *conversation) takeFields(f fieldSet) error {
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
	takeTime(f, &h.Created, "created", "created_at", "createdAt")
	takeTime(f, &h.Updated, "updated", "updated_at", "updatedAt", "lastActiveAt")
	if len(f) == 0 {
		return nil
	}
	return t.setMetadata(sessions.FieldsName, f)
}

// takeTime takes the first of names that is a time.
func takeTime(f fieldSet, into *time.Time, names ...string) {
	for _, name := range names {
		if at := parseTime(f[name]); into.IsZero() && !at.IsZero() {
			*into = at
			delete(f, name)
		}
	}
}

package exchange

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/sessions"
)

// errLong: a line is longer than it may be.
var errLong = errors.New("the line is too long")

// readLine reads one line, its end included, of any length up to most. The
// last line may lack its end: then the error is io.EOF beside the bytes. A
// line that is too long is returned as far as it was read, with errLong.
func readLine(in *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case len(line) > most:
			return line, errLong
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// lines counts the lines that it reads.
type lines struct {
	in     *bufio.Reader
	number int // of the line that was read last, from 1
	ended  bool
}

// next returns the next line that is not blank, and whether it was ended by a
// line break: one that is not may have been cut off by a crash.
func (l *lines) next() (line []byte, whole bool, err error) {
	for !l.ended {
		line, err = readLine(l.in, MaxLine)
		l.number++
		switch {
		case err == io.EOF:
			l.ended = true
		case errors.Is(err, errLong):
			return nil, false, fmt.Errorf("exchange: read line %d: %w: more than %d MiB", l.number, ErrFormat, MaxLine>>20)
		case err != nil:
			return nil, false, fmt.Errorf("exchange: read line %d: %w", l.number, err)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, !l.ended, nil
		}
	}
	return nil, false, io.EOF
}

// log reads the append-only logs of PicoClaw and of Sentinel: a message a line,
// perhaps with metadata of the conversation in the first line or in a file next to
// it.
type log struct {
	lines  lines
	reader *Reader
	done   bool
}

func (g *log) next() (*talk, error) {
	if g.done {
		return nil, io.EOF
	}
	g.done = true
	t, meta := g.reader.newTalk(), g.reader.opts.Meta
	decode := decodeEntry
	if t.joins = g.reader.format == Sentinel; t.joins {
		decode = t.decodeSentinel
	}
	skip, written := 0, 0 // lines that were summarised, and lines with messages
	if meta != nil {
		var err error
		if skip, err = t.meta(meta); err != nil {
			return nil, fmt.Errorf("exchange: read the file beside the log: %w", err)
		}
	}
	for {
		line, whole, err := g.lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if n, ok := t.metaLine(line, written == 0 && meta == nil); ok {
			meta, skip = line, n
			continue
		}
		written++
		e, err := decode(line)
		switch {
		case err == nil:
			err = t.add(e)
		case json.Valid(line): // whole, but no message
		case !whole:
			t.note("line %d, the last, is cut off and was left out", g.lines.number)
			err = nil
		default: // PicoClaw appends to a line that a crash cut off
			t.note("line %d is damaged and was left out", g.lines.number)
			err = nil
		}
		if err != nil {
			return nil, fmt.Errorf("exchange: read line %d: %w", g.lines.number, err)
		}
		if written <= skip || e.is(t.until) {
			t.covered = t.kept
		}
	}
	if t.raw == 0 && written > 0 {
		return nil, fmt.Errorf("exchange: read: %w: none of the %d lines is a message", ErrFormat, written)
	}
	return t, nil
}

// metaLine takes the first line as metadata if it is no message.
func (t *talk) metaLine(line []byte, first bool) (skip int, ok bool) {
	var fields map[string]json.RawMessage
	if !first || json.Unmarshal(line, &fields) != nil || fields["role"] != nil || !isMeta(fields) {
		return 0, false
	}
	skip, err := t.meta(line)
	return skip, err == nil
}

// meta takes the metadata of a log.
func (t *talk) meta(data []byte) (skip int, err error) {
	f, err := parse(data)
	if err != nil {
		return 0, err
	}
	take(f, "skip", &skip) // so many lines were summarised
	delete(f, "count")
	if t.joins {
		t.sentinel(f)
	}
	return max(0, skip), t.fields(f)
}

// ownLines reads Dragoman's own lines. They are taken as they are, because they
// are the one format that must lose nothing.
type ownLines struct {
	lines lines
	key   channels.Key // instead of the one in the input
	seen  channels.Key
}

func (s *ownLines) next() (sessions.Record, error) {
	line, _, err := s.lines.next()
	if err != nil {
		return sessions.Record{}, err
	}
	rec, err := decodeRecord(line)
	if !utf8.Valid(line) {
		err = errEncoding
	}
	if err != nil {
		return rec, fmt.Errorf("exchange: read line %d: %w", s.lines.number, err)
	}
	if n := parts(rec); n != 1 {
		return rec, fmt.Errorf("exchange: read line %d: %w: it holds %d records, not one", s.lines.number, ErrFormat, n)
	}
	k, has := KeyOf(rec)
	if has && k.IsZero() {
		return rec, fmt.Errorf("exchange: read line %d: %w", s.lines.number, ErrNoKey)
	}
	if !has || s.key.IsZero() {
		return rec, nil
	}
	if !s.seen.IsZero() && s.seen != k {
		return rec, fmt.Errorf("exchange: read line %d: %w: the file holds more than one conversation, a key names only one", s.lines.number, ErrNoKey)
	}
	s.seen = k
	*keyIn(rec) = s.key
	return rec, nil
}

// decodeRecord reads one record. Names that this version does not know are
// refused: their meaning in a later version would be lost.
func decodeRecord(line []byte) (rec sessions.Record, err error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err = dec.Decode(&rec); err == nil {
		if _, err := dec.Token(); err != io.EOF { // two lines in one would lose the second
			return rec, fmt.Errorf("%w: something follows its record", ErrFormat)
		}
		return rec, nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) == nil && isArchive(fields) {
		return rec, errOwnStore
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return rec, fmt.Errorf("%w: %s is a name that this version does not know", ErrFormat, sessions.OneLine(name, 40))
	}
	return rec, fmt.Errorf("%w: %w", ErrFormat, err)
}

// parts counts the fields that are set.
func parts(r sessions.Record) (n int) {
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		n += one(!v.Field(i).IsNil())
	}
	return n
}

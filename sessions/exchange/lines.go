package exchange

import (
	"bufio"
	"bytes"
	"cmp"
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
var errLong = fmt.Errorf("%w: more than %d MiB", ErrFormat, MaxLine>>20)

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
	// whole says that it was ended by a line break: one that is not may have been
	// cut off by a crash.
	whole bool
}

func newLines(in io.Reader) lines { return lines{in: bufio.NewReaderSize(in, 64<<10), whole: true} }

// each calls f for every line that is not blank. Errors name the line.
func (l *lines) each(f func(line []byte) error) error {
	for l.whole {
		line, err := readLine(l.in, MaxLine)
		l.number++
		if err == io.EOF {
			l.whole, err = false, nil
		}
		if line = bytes.TrimSpace(line); err == nil && len(line) > 0 {
			err = f(line)
		}
		if err != nil {
			return fmt.Errorf("exchange: read line %d: %w", l.number, err)
		}
	}
	return nil
}

// log reads the append-only logs of PicoClaw and of Sentinel: a message a line,
// perhaps with metadata of the conversation in the first line or in a file next to
// it.
type log struct {
	*Reader
	lines   lines
	meta    bool // there was metadata
	skip    int  // lines that were summarised
	written int  // lines with messages
}

func (g *log) read(emit Emit) error {
	return g.talk(emit, func(t *talk) error {
		t.joins = g.format == Sentinel
		if meta := g.opts.Meta; meta != nil {
			var err error
			if g.skip, err = t.meta(meta); err != nil {
				return fmt.Errorf("exchange: read the file beside the log: %w", err)
			}
			g.meta = true
		}
		err := g.lines.each(func(line []byte) error { return g.line(t, line) })
		if err == nil && t.raw == 0 && g.written > 0 {
			err = fmt.Errorf("exchange: read: %w: none of the %d lines is a message", ErrFormat, g.written)
		}
		return err
	})
}

func (g *log) line(t *talk, line []byte) error {
	if g.written == 0 && !g.meta {
		var f fieldSet
		if json.Unmarshal(line, &f) == nil && f["role"] == nil && isMeta(f) {
			var err error
			if g.skip, err = t.meta(line); err == nil {
				g.meta = true
				return nil
			}
		}
	}
	g.written++
	decode := decodeEntry
	if t.joins {
		decode = t.decodeSentinel
	}
	e, err := decode(line)
	switch {
	case err == nil:
		err = t.add(e)
	case json.Valid(line): // whole, but no message
	case !g.lines.whole:
		t.note("line %d, the last, is cut off and was left out", g.lines.number)
		err = nil
	default: // PicoClaw appends to a line that a crash cut off
		t.note("line %d is damaged and was left out", g.lines.number)
		err = nil
	}
	if g.written <= g.skip || e.is(t.until) {
		t.covered = t.kept
	}
	return err
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
		take(f, "sessionId", &t.name)
		take(f, "lastSummarizedMessageId", &t.until)
	}
	return skip, t.fields(f)
}

// ownLines reads Dragoman's own lines. They are taken as they are, because they
// are the one format that must lose nothing.
type ownLines struct {
	lines lines
	key   channels.Key // instead of the one in the input
	seen  channels.Key
}

func (s *ownLines) read(emit Emit) error {
	var refused error // by emit, which has nothing to do with the line
	err := s.lines.each(func(line []byte) error {
		rec, err := s.record(line)
		if err == nil {
			refused = emit(rec)
		}
		return cmp.Or(err, refused)
	})
	return cmp.Or(refused, err)
}

// record reads one record. Names that this version does not know are refused:
// their meaning in a later version would be lost.
func (s *ownLines) record(line []byte) (rec sessions.Record, err error) {
	if !utf8.Valid(line) {
		return rec, errEncoding
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&rec); err != nil {
		return rec, refusal(line, err)
	}
	if _, err := dec.Token(); err != io.EOF { // two lines in one would lose the second
		return rec, fmt.Errorf("%w: something follows its record", ErrFormat)
	}
	if n := parts(rec); n != 1 {
		return rec, fmt.Errorf("%w: it holds %d records, not one", ErrFormat, n)
	}
	k := keyIn(rec)
	switch {
	case k == nil:
		return rec, nil
	case k.IsZero():
		return rec, ErrNoKey
	case s.key.IsZero():
		return rec, nil
	case !s.seen.IsZero() && s.seen != *k:
		return rec, errManyKeys
	}
	s.seen, *k = *k, s.key
	return rec, nil
}

// refusal says why a line of ours is refused.
func refusal(line []byte, err error) error {
	var f fieldSet
	if json.Unmarshal(line, &f) == nil && isArchive(f) {
		return errOwnStore
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return fmt.Errorf("%w: %s is a name that this version does not know", ErrFormat, sessions.OneLine(name, 40))
	}
	return fmt.Errorf("%w: %w", ErrFormat, err)
}

// parts counts the fields that are set.
func parts(r sessions.Record) (n int) {
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		n += one(!v.Field(i).IsNil())
	}
	return n
}

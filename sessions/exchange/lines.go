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
	"time"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/sessions"
)

var errLineTooLong = fmt.Errorf("%w: more than %d MiB", ErrFormat, maxLine>>20)

// readLine reads one line with its end. It returns a last line without one with
// io.EOF, and the beginning of a line of more than limit bytes with errLineTooLong.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case len(line) > limit:
			return line, errLineTooLong
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// lines reads lines and counts them.
type lines struct {
	in     *bufio.Reader
	number int // of the last line that was read, from 1
	// terminated says that the last line ended with a line break. One without may have
	// been cut off by a crash.
	terminated bool
}

func newLines(in io.Reader) lines {
	return lines{in: bufio.NewReaderSize(in, 64<<10), terminated: true}
}

// each calls f for every line that is not blank. Errors name the line.
func (l *lines) each(f func(line []byte) error) error {
	for l.terminated {
		line, err := readLine(l.in, maxLine)
		l.number++
		if err == io.EOF {
			l.terminated, err = false, nil
		}
		line = bytes.TrimSpace(line)
		if err == nil && len(line) > 0 {
			err = f(line)
		}
		if err != nil {
			return fmt.Errorf("exchange: read line %d: %w", l.number, err)
		}
	}
	return nil
}

// logReader reads the append-only logs of PicoClaw and of Sentinel, with a message a
// line. The first line or a file next to the log may have metadata of the conversation.
type logReader struct {
	*Reader
	lines    lines
	hasMeta  bool
	skip     int // the first lines with messages, which were summarised
	messages int // lines with messages so far
	// left counts the lines that are no messages, by kind.
	left map[string]int
}

func (g *logReader) read(emit Emit) error {
	return g.conversation(emit, func(t *conversation) error {
		t.joins = g.format == Sentinel
		if g.format == Nanobot {
			t.zone = cmp.Or(g.opts.Zone, time.Local)
		}
		if meta := g.opts.Meta; meta != nil {
			var err error
			if g.skip, err = t.takeMeta(meta); err != nil {
				return fmt.Errorf("exchange: read the file beside the log: %w", err)
			}
			g.hasMeta = true
		}
		err := g.lines.each(func(line []byte) error { return g.line(t, line) })
		if err == nil && t.raw == 0 && g.messages > 0 {
			err = fmt.Errorf("exchange: read: %w: none of the %d lines is a message", ErrFormat, g.messages)
		}
		g.sayLeft(t)
		return err
	})
}

func (g *logReader) line(t *conversation, line []byte) error {
	if g.format == Nanobot {
		if done, err := g.nanobotLine(t, line); done || err != nil {
			return err
		}
	}
	if g.messages == 0 && !g.hasMeta {
		var f fieldSet
		if json.Unmarshal(line, &f) == nil && f["role"] == nil && isMeta(f) {
			var err error
			if g.skip, err = t.takeMeta(line); err == nil {
				g.hasMeta = true
				return nil
			}
		}
	}
	g.messages++
	decode := decodeEntry
	if t.joins {
		decode = t.decodeSentinel
	}
	e, err := decode(line)
	if err == nil && g.format == Nanobot {
		t.nanobotEntry(&e)
	}
	switch {
	case err == nil:
		err = t.addDecoded(e, nil)
	case json.Valid(line): // complete, but not a message
	case !g.lines.terminated:
		t.note("line %d, the last, is cut off and was left out", g.lines.number)
		err = nil
	default: // PicoClaw appends to a line that a crash cut off
		t.note("line %d is damaged and was left out", g.lines.number)
		err = nil
	}
	if g.messages <= g.skip || e.hasSentinelID(t.until) {
		t.covered = t.kept
	}
	return err
}

// takeMeta takes the metadata of a log. The first skip lines with messages were
// summarised.
func (t *conversation) takeMeta(data []byte) (skip int, err error) {
	f, err := parse(data)
	if err != nil {
		return 0, err
	}
	take(f, "skip", &skip)
	delete(f, "count")
	if err := t.clarifyKey(f); err != nil {
		return 0, err
	}
	if t.joins {
		take(f, "sessionId", &t.name)
		take(f, "lastSummarizedMessageId", &t.until)
	}
	return skip, t.takeFields(f)
}

// recordReader reads Dragoman's own JSONL. It changes nothing in a record but the key,
// because this format must lose nothing.
type recordReader struct {
	lines lines
	key   channels.Key // replaces the one in the input
	seen  channels.Key // the one in the input so far
}

func (s *recordReader) read(emit Emit) error {
	var refused error // by emit, so it must not name the line
	err := s.lines.each(func(line []byte) error {
		rec, err := s.record(line)
		if err == nil {
			refused = emit(rec)
		}
		return cmp.Or(err, refused)
	})
	return cmp.Or(refused, err)
}

// record decodes one record. It refuses unknown names, because what they mean in a
// later version would be lost.
func (s *recordReader) record(line []byte) (rec sessions.Record, err error) {
	if !utf8.Valid(line) {
		return rec, errEncoding
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&rec); err != nil {
		return rec, explain(line, err)
	}
	if _, err := dec.Token(); err != io.EOF { // a second record in this line would be lost
		return rec, fmt.Errorf("%w: something follows its record", ErrFormat)
	}
	if n := countFields(rec); n != 1 {
		return rec, fmt.Errorf("%w: it holds %d records, not one", ErrFormat, n)
	}
	k := keyOf(rec)
	switch {
	case rec.Fact != nil && !isScope(rec.Fact.Scope):
		return rec, fmt.Errorf("%w: the fact's scope %q is neither chat:KEY nor person:CHANNEL:ID, so nobody would see it", ErrFormat, sessions.OneLine(rec.Fact.Scope, 60))
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

// isScope reports whether a fact of that scope can be asked for: see
// [sessions.ChatScope] and [sessions.PersonScope].
func isScope(scope string) bool {
	if chat, ok := strings.CutPrefix(scope, "chat:"); ok {
		_, err := channels.ParseKey(chat)
		return err == nil
	}
	person, ok := strings.CutPrefix(scope, "person:")
	channel, id, both := strings.Cut(person, ":")
	if !ok || !both || id == "" {
		return false
	}
	_, err := channels.NewKey(channel, "1")
	return err == nil
}

// explain turns an error of encoding/json into one that says why a line of ours is
// refused.
func explain(line []byte, err error) error {
	var f fieldSet
	if json.Unmarshal(line, &f) == nil && isArchive(f) {
		return errOwnStore
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return fmt.Errorf("%w: %s is a name that this version does not know", ErrFormat, sessions.OneLine(name, 40))
	}
	return fmt.Errorf("%w: %w", ErrFormat, err)
}

// countFields counts the fields that are set.
func countFields(r sessions.Record) (n int) {
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		n += one(!v.Field(i).IsNil())
	}
	return n
}

// Package exchange moves conversations between Dragoman and files. It reads files
// of other programs and Dragoman's own, and writes conversations for programs (JSON,
// JSONL) and for people (Markdown).
//
// The promise: a conversation is read whole, or refused with an error that names the
// place of the mistake. [Reader.Notes] names everything that is left out or changed.
// Fields that Dragoman does not know are kept unchanged, in [sessions.Message.Extra]
// and in one value of the conversation's metadata.
//
// Memory holds a few messages at a time. A long conversation waits in an unnamed
// temporary file, because fields after the messages belong to the record before them.
//
// Failures: a truncated file in Dragoman's own JSONL is refused. Of another program's
// log, an incomplete last line is noted and left out, because a crash leaves one. Text
// that is not UTF-8 and a line of more than 256 MiB are refused. Readers change
// nothing; of a SQLite file they open a copy. The package starts no goroutines.
package exchange

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Format is a file format for conversations.
type Format string

// The formats. NewWriter writes JSON, JSONL and Markdown. A Reader reads all but Markdown.
const (
	Auto          Format = "auto"
	JSON          Format = "json"  // one document a conversation
	JSONL         Format = "jsonl" // a sessions.Record a line; loses nothing
	Markdown      Format = "markdown"
	PicoClaw      Format = "picoclaw"       // a document of PicoClaw's
	PicoClawLines Format = "picoclaw-jsonl" // a message a line
	OpenAI        Format = "openai"         // {"messages": […]}, or the list alone
	Goose         Format = "goose"          // a SQLite database
	Molf          Format = "molf"           // a document of Molf's
	Terrarium     Format = "terrarium"      // a document of Terrarium's
	Sentinel      Format = "sentinel"       // a message a line, and a summary.json
	Nanobot       Format = "nanobot"        // a message a line, after one of metadata
)

const (
	// maxLine bounds one line of a JSONL file, in bytes.
	maxLine = 256 << 20
	// maxNotes are kept; further ones are counted.
	maxNotes = 1000
)

// Errors of readers that callers branch on.
var (
	// ErrFormat: the input has unexpected content.
	ErrFormat = errors.New("unexpected content")
	// ErrNoKey: the conversation has no key that Dragoman can use.
	ErrNoKey = errors.New("no usable key")
	// ErrNobody: nobody took part in the conversation, so there is nothing to import.
	ErrNobody = errors.New("no person's conversation")
)

// Options adjust a [Reader].
type Options struct {
	// Format is the format of the input. Default: Auto.
	Format Format
	// Key replaces the key in the input, which must then be one conversation.
	Key channels.Key
	// Name names the conversation if neither Key nor the input does: its key becomes
	// "import:" and the name.
	Name string
	// Meta is the content of the file that PicoClaw and Sentinel keep next to a log, or
	// nil.
	Meta []byte
	// Zone is the zone of nanobot's times. Default: that of its config.json above the
	// file, else the local one.
	Zone *time.Location
	// Now is the time of conversations without times. Default: time.Now.
	Now func() time.Time
}

// Emit takes one record. The caller returns its error at once.
type Emit = func(sessions.Record) error

// Reader reads the records of one input.
type Reader struct {
	opts          Options
	format        Format
	read          func(Emit) error
	conversations int // so far
	notes         []string
	more          int // notes beyond maxNotes
	close         func() error
}

func newReader(o Options) *Reader {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Reader{opts: o, format: cmp.Or(o.Format, Auto), close: func() error { return nil }}
}

// NewReader detects the format of r and reads it. A goose database cannot be read
// from a stream: see [Open].
func NewReader(r io.Reader, o Options) (*Reader, error) {
	rd, in := newReader(o), bufio.NewReaderSize(r, 64<<10)
	if b, _ := in.Peek(3); string(b) == "\xef\xbb\xbf" {
		_, _ = in.Discard(3) // the mark that some editors put before UTF-8
	}
	rest := io.Reader(in)
	if rd.format == Auto {
		var err error
		if rd.format, rest, err = detect(in); err != nil {
			return nil, err
		}
	}
	switch rd.format {
	case JSON, PicoClaw, OpenAI, Molf, Terrarium:
		rd.read = (&documentReader{Reader: rd, dec: json.NewDecoder(rest), as: rd.format}).read
	case PicoClawLines, Sentinel, Nanobot:
		rd.read = (&logReader{Reader: rd, lines: newLines(rest), left: map[string]int{}}).read
	case JSONL:
		rd.read = (&recordReader{lines: newLines(rest), key: o.Key}).read
	default:
		return nil, fmt.Errorf("exchange: read: %w: %s cannot be read from here", ErrFormat, rd.format)
	}
	return rd, nil
}

// Format is the detected format of the input.
func (r *Reader) Format() Format { return r.format }

// Each emits all records of the input, each conversation's before its messages. It
// can be called once.
func (r *Reader) Each(emit Emit) error { return r.read(emit) }

// Notes returns a sentence for everything that was left out or changed so far.
func (r *Reader) Notes() []string {
	if r.more > 0 {
		return append(slices.Clip(r.notes), fmt.Sprintf("%d more notes like these", r.more))
	}
	return r.notes
}

// Close closes the input and removes temporary files.
func (r *Reader) Close() error { return r.close() }

func (r *Reader) note(format string, args ...any) {
	if len(r.notes) == maxNotes {
		r.more++
		return
	}
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// Package exchange moves conversations between Dragoman and files. It reads files
// of other programs and Dragoman's own, and writes conversations for programs (JSON,
// JSONL) and for people (Markdown).
//
// The promise: a conversation is read whole, or refused with an error that names the
// place of the mistake. [Reader.Notes] names everything that is left out or changed.
// Fields that Dragoman does not know are kept unchanged, in [sessions.Message.Extra]
// and in one value of the conversation's metadata. A truncated file in Dragoman's own
// JSONL is refused; the torn last line of another program's log is noted and the rest
// is read, because a crash leaves such a file. Text that is not UTF-8 is refused.
//
// Memory holds a few messages at a time. A long conversation waits in a file without
// a name, because fields after the messages belong to the record before them.
//
// Failures: a line is at most [MaxLine] bytes. Readers change nothing; of a SQLite
// file they open a copy. The package starts no goroutines.
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

// Format is how a file holds conversations.
type Format string

// The formats. JSON, JSONL and Markdown are written; all but Markdown are read.
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
	Sentinel      Format = "sentinel"       // a message a line, with summary.json beside it
)

const (
	// MaxLine bounds one line of a JSONL file, in bytes.
	MaxLine = 256 << 20
	// mostNotes are kept; further ones are counted.
	mostNotes = 1000
)

// Errors of readers that callers branch on.
var (
	// ErrFormat: the input has unexpected content.
	ErrFormat = errors.New("unexpected content")
	// ErrNoKey: the conversation has no key that Dragoman can use.
	ErrNoKey = errors.New("no usable key")
)

// Options say how to read.
type Options struct {
	// Format is the format of the input. Default: Auto.
	Format Format
	// Key replaces the key in the input, which must then be one conversation.
	Key channels.Key
	// Name names the conversation if neither Key nor the input does: its key becomes
	// "import:" and the name.
	Name string
	// Meta is the file that PicoClaw and Sentinel keep beside their logs, or nil.
	Meta []byte
	// Now is the time of conversations without times. Default: time.Now.
	Now func() time.Time
}

// Emit takes one record. Who calls it stops at its error and returns it.
type Emit = func(sessions.Record) error

// Reader reads the records of one input.
type Reader struct {
	opts   Options
	format Format
	read   func(Emit) error
	talks  int // conversations so far
	notes  []string
	more   int // notes beyond mostNotes
	close  func() error
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
		rd.read = (&documents{Reader: rd, dec: json.NewDecoder(rest), as: rd.format}).read
	case PicoClawLines, Sentinel:
		rd.read = (&log{Reader: rd, lines: newLines(rest)}).read
	case JSONL:
		rd.read = (&ownLines{lines: newLines(rest), key: o.Key}).read
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

// Notes name everything that was left out or changed so far, a sentence each.
func (r *Reader) Notes() []string {
	if r.more > 0 {
		return append(slices.Clip(r.notes), fmt.Sprintf("%d more notes like these", r.more))
	}
	return r.notes
}

// Close closes the input and removes temporary files.
func (r *Reader) Close() error { return r.close() }

func (r *Reader) note(format string, args ...any) {
	if len(r.notes) == mostNotes {
		r.more++
		return
	}
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

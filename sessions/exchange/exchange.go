// Package exchange carries conversations between Dragoman and files: it reads
// what other programs keep and what Dragoman wrote itself, and writes
// conversations for programs (JSON, JSONL) and for people (Markdown).
//
// The promise: a conversation is read whole or refused with an error that says
// where the file is wrong; whatever is left out or changed on the way in is
// named in [Reader.Notes]. What Dragoman has no field for is kept as it is: in
// [sessions.Message.Extra], and in one value of the conversation's metadata. A file in Dragoman's own JSONL that was cut off is
// refused; the torn last line of another program's log is noted and the rest
// is read, because that is how such a file looks after a crash. Text that is
// not UTF-8 is refused.
//
// Memory holds a few messages at a time; a long conversation waits in a file
// without a name until its end is read, because what stands behind the messages
// belongs before them.
//
// Failures: every line is bounded (see [MaxLine]). Readers
// change nothing; a SQLite file is copied and the copy is opened. The package
// starts no goroutines.
package exchange

import (
	"bufio"
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
	// mostNotes are written out; of further ones there is a number.
	mostNotes = 1000
)

// Errors of readers that callers branch on.
var (
	// ErrFormat: the input is not what it should be.
	ErrFormat = errors.New("unexpected content")
	// ErrNoKey: the conversation has no key that Dragoman can use.
	ErrNoKey = errors.New("no usable key")
)

// Options say how to read.
type Options struct {
	// Format is what the input must be. Default: Auto.
	Format Format
	// Key is the conversation's key instead of the one in the input. The input
	// may then hold one conversation only.
	Key channels.Key
	// Name is what the conversation is called if neither Key nor the input
	// names it: its key becomes "import:" and the name.
	Name string
	// Meta is the file that PicoClaw and Sentinel keep beside their logs, or nil.
	Meta []byte
	// Now is the time of conversations that tell none. Default: time.Now.
	Now func() time.Time
}

// Reader reads the records of one input, each conversation's record before its
// messages.
type Reader struct {
	opts   Options
	format Format
	// talk reads the next conversation; record the next record of an input
	// that holds records already. One of them is set.
	talk   func() (*talk, error)
	record func() (sessions.Record, error)
	// current is the conversation that was read last, and whole once it can be
	// handed out.
	current *talk
	whole   bool
	notes   []string
	more    int // notes beyond mostNotes
	talks   int
	close   func() error
}

// NewReader finds out what r holds and reads it. A goose database cannot be
// read from a stream: see [Open].
func NewReader(r io.Reader, o Options) (*Reader, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	in := bufio.NewReaderSize(r, 64<<10)
	rd := &Reader{opts: o, format: o.Format}
	if err := skipBOM(in); err != nil {
		return nil, err
	}
	rest := io.Reader(in)
	if o.Format == "" || o.Format == Auto {
		var err error
		if rd.format, rest, err = detect(in); err != nil {
			return nil, err
		}
	}
	switch rd.format {
	case JSON, PicoClaw, OpenAI, Molf, Terrarium:
		rd.talk = newDocuments(rest, rd).next
	case PicoClawLines, Sentinel:
		rd.talk = newLog(rest, rd).next
	case JSONL:
		rd.record = newOwnLines(rest, o.Key).next
	default:
		return nil, fmt.Errorf("exchange: read: %w: %s cannot be read from here", ErrFormat, rd.format)
	}
	return rd, nil
}

// Format is what the input turned out to be.
func (r *Reader) Format() Format { return r.format }

// Notes are what was left out or changed so far, each in a sentence.
func (r *Reader) Notes() []string {
	if r.more > 0 {
		return append(slices.Clip(r.notes), fmt.Sprintf("%d more notes like these", r.more))
	}
	return r.notes
}

// Close frees what reading took.
func (r *Reader) Close() error {
	var err error
	if r.current != nil {
		err = r.current.said.Close()
		r.current = nil
	}
	if r.close != nil {
		err = errors.Join(err, r.close())
	}
	return err
}

func (r *Reader) note(format string, args ...any) {
	if len(r.notes) == mostNotes {
		r.more++
		return
	}
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// Next returns the next record, and io.EOF after the last.
func (r *Reader) Next() (sessions.Record, error) {
	if r.record != nil {
		return r.record()
	}
	for {
		if r.whole {
			rec, err := r.current.next()
			if err != io.EOF {
				return rec, err
			}
			r.whole = false
		}
		t, err := r.talk()
		if err != nil {
			return sessions.Record{}, err
		}
		r.talks++
		if err := t.finish(r.opts, r.talks); err != nil {
			return sessions.Record{}, err
		}
		r.whole = true
	}
}

package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"dragoman/agent"
)

var (
	dataField  = []byte("data:")
	eventField = []byte("event:")
	errorField = []byte("error:")
	doneMark   = []byte("[DONE]")
	errorKey   = []byte(`"error"`)
)

// errorEvent is the type of an event that says what failed.
const errorEvent = "error"

// errGarbage is a data line without an object in it.
var errGarbage = errors.New("the stream has a data line that is not a JSON object")

// frames reads the body of a 200 as servers really send it and gives the JSON
// objects after "data:", up to "data: [DONE]", each with the type of its event.
// Comments and other fields are left out. Error frames in all spellings become
// errors. A body that is one JSON document, from a server that does not
// stream, becomes one frame.
type frames struct {
	body io.ReadCloser
	in   *bufio.Reader
	got  []byte // a frame that was not handed out yet
	part []byte // the lines so far of a frame that has several
	line []byte // a line longer than the buffer of in
	err  error  // ends the stream once got is handed out
	// event is the type of the current event, last the newest that there was.
	event, last string
	end         byte // of lines: a line feed, or a carriage return alone
	begun       bool
	done        bool // [DONE] was seen, or the answer was one document
}

// readers are those of calls that have ended.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4096) }}

func (f *frames) reset(body io.ReadCloser) {
	f.release()
	*f = frames{body: body, in: readers.Get().(*bufio.Reader)}
	f.in.Reset(body)
}

// release gives the reader back. Nothing may be read after it.
func (f *frames) release() {
	if f.in != nil {
		f.in.Reset(nil)
		readers.Put(f.in)
		f.in, f.got, f.err = nil, nil, io.ErrClosedPipe
	}
}

// next returns one frame, which is valid until the next call. The end of a
// whole stream is io.EOF, and then done is set.
func (f *frames) next() (event string, frame []byte, err error) {
	for f.got == nil {
		switch {
		case f.err != nil:
			return "", nil, f.err
		case f.done:
			return "", nil, io.EOF
		case f.begun:
			f.step()
		default:
			f.begun = true
			f.begin()
		}
	}
	event, frame = f.event, f.got
	f.event, f.got = "", nil
	return event, frame, nil
}

// begin looks at the first byte that matters: it tells an event stream from
// a document.
func (f *frames) begin() {
	for {
		c, err := f.in.ReadByte()
		if err != nil {
			f.err = err
			return
		}
		switch c {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF: // blanks, or a byte order mark
		case '<':
			f.err = &agent.ModelError{Kind: agent.ErrorRefused, Status: 200, Cause: agent.CauseURL, Err: errors.New(prefix + "the server answered with a web page; does the base URL end where the API begins (often /v1)?")}
			return
		case '{', '[', 'n', '"':
			_ = f.in.UnreadByte()
			f.document()
			return
		default:
			_ = f.in.UnreadByte()
			f.end = f.lineEnd()
			return
		}
	}
}

// lineEnd looks at how the first line ends. A line feed after it means that
// carriage returns are only blanks; one that ends all lines is rare, and has no
// line feed after it.
func (f *frames) lineEnd() byte {
	for n := 1; ; n++ {
		if _, err := f.in.Peek(n); err != nil {
			return '\n' // the line is the whole stream, or longer than the buffer
		}
		seen, _ := f.in.Peek(f.in.Buffered())
		n = len(seen)
		i := bytes.IndexAny(seen, "\r\n")
		switch {
		case i >= 0 && seen[i] == '\n':
			return '\n'
		case i >= 0 && i+1 < len(seen) && seen[i+1] != '\n':
			return '\r'
		case i >= 0 && i+1 < len(seen):
			return '\n'
		}
	}
}

// document reads a body that is not a stream.
func (f *frames) document() {
	body, err := io.ReadAll(f.in)
	if err != nil {
		f.err = err
		return
	}
	var line bytes.Buffer
	if json.Compact(&line, body) != nil {
		f.err = io.ErrUnexpectedEOF
		return
	}
	f.done = true
	f.frame(line.Bytes())
}

// step reads one line.
func (f *frames) step() {
	line, err := f.readLine()
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
		return
	}
	f.take(bytes.TrimSpace(line))
	if err != nil && f.err == nil {
		f.complete()
		if f.err == nil {
			f.err = err
		}
	}
}

// take handles one line. The last one may be cut; then its JSON is cut, too,
// and whoever decodes it fails.
func (f *frames) take(line []byte) {
	switch {
	case len(line) == 0:
		f.complete()
		if f.got == nil {
			f.event = ""
		}
	case bytes.HasPrefix(line, eventField):
		if event := bytes.TrimSpace(line[len(eventField):]); string(event) != f.last {
			f.last = string(event)
		}
		f.event = f.last
	case bytes.HasPrefix(line, errorField):
		f.fail(line[len(errorField):])
	case bytes.HasPrefix(line, dataField):
		data := bytes.TrimSpace(line[len(dataField):])
		switch {
		case f.event == errorEvent:
			f.fail(data)
		case f.part != nil:
			f.part = append(append(f.part, '\n'), data...)
		case bytes.Equal(data, doneMark):
			f.done = true
		case len(data) == 0:
		case data[0] != '{' || f.whole(data):
			f.frame(data)
		default:
			f.part = append(make([]byte, 0, 2*len(data)), data...)
		}
	}
}

// whole reports whether data is all that its event has. Mostly the blank line
// after it is here already. Servers that send none have an object in each line.
func (f *frames) whole(data []byte) bool {
	if f.in.Buffered() > 0 {
		if b, _ := f.in.Peek(1); b[0] == '\n' || b[0] == '\r' {
			return true
		}
	}
	return json.Valid(data)
}

// complete hands out a frame of several lines.
func (f *frames) complete() {
	if f.part != nil {
		data := f.part
		f.part = nil
		f.frame(data)
	}
}

// frame passes one JSON object on, unless it is an error.
func (f *frames) frame(data []byte) {
	if data[0] != '{' {
		f.err = errGarbage
		if _, known := readError(data); known {
			f.fail(data)
		}
		return
	}
	if bytes.Contains(data, errorKey) {
		// Answers may have that key further down, and then an error of null.
		var top struct {
			Error json.RawMessage `json:"error"`
		}
		if json.Unmarshal(data, &top) == nil && failed(top.Error) {
			f.fail(data)
			return
		}
	}
	f.got = data
}

// readLine returns a line without allocating for those that fit the buffer.
// It is valid until the next call.
func (f *frames) readLine() ([]byte, error) {
	line, err := f.in.ReadSlice(f.end)
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	f.line = append(f.line[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = f.in.ReadSlice(f.end)
		f.line = append(f.line, line...)
	}
	return f.line, err
}

// fail ends the stream with an error that the server describes so.
func (f *frames) fail(data []byte) { f.err = &Failure{bytes.Clone(bytes.TrimSpace(data))} }

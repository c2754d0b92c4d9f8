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
	part []byte // the lines so far of a frame that has several
	line []byte // a line longer than the buffer of in
	// event is the type of the current event, last the newest that there was.
	event, last string
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
		f.in = nil
	}
}

// next returns one frame, which is valid until the next call. The end of a
// whole stream is io.EOF, and then done is set.
func (f *frames) next() (event string, frame []byte, err error) {
	if !f.begun {
		f.begun = true
		frame, err = f.begin()
	}
	for frame == nil && err == nil {
		if f.done {
			return "", nil, io.EOF
		}
		line, end := f.readLine()
		if end != nil && !errors.Is(end, io.EOF) {
			return "", nil, end
		}
		frame, err = f.take(bytes.TrimSpace(line))
		if frame == nil && err == nil && end != nil {
			if frame, f.part = f.part, nil; frame == nil {
				err = end
			}
		}
	}
	if err == nil {
		err = failureIn(frame)
	}
	event, f.event = f.event, ""
	return event, frame, err
}

// begin looks at the first byte that matters, which tells an event stream from
// a document, and returns a document.
func (f *frames) begin() (document []byte, err error) {
	for {
		c, err := f.in.ReadByte()
		if err != nil {
			return nil, err
		}
		switch c {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF: // blanks, or a byte order mark
		case '<':
			return nil, &agent.ModelError{Kind: agent.ErrorRefused, Status: 200, Cause: agent.CauseURL, Err: errors.New(prefix + "the server answered with a web page; does the base URL end where the API begins (often /v1)?")}
		case '{', '[', 'n', '"':
			_ = f.in.UnreadByte()
			body, err := io.ReadAll(f.in)
			if err != nil {
				return nil, err
			}
			var line bytes.Buffer
			if json.Compact(&line, body) != nil {
				return nil, io.ErrUnexpectedEOF
			}
			f.done = true
			return line.Bytes(), nil
		default:
			return nil, f.in.UnreadByte()
		}
	}
}

// take handles one line, and returns the frame that ends with it. The last line
// may be cut; then its JSON is cut, too, and whoever decodes it fails.
func (f *frames) take(line []byte) (frame []byte, err error) {
	data, isData := bytes.CutPrefix(line, dataField)
	data = bytes.TrimSpace(data)
	switch {
	case len(line) == 0:
		if frame, f.part = f.part, nil; frame == nil {
			f.event = ""
		}
		return frame, nil
	case bytes.HasPrefix(line, eventField):
		if event := bytes.TrimSpace(line[len(eventField):]); string(event) != f.last {
			f.last = string(event)
		}
		f.event = f.last
	case bytes.HasPrefix(line, errorField):
		return nil, failure(line[len(errorField):])
	case !isData:
	case f.event == errorEvent:
		return nil, failure(data)
	case f.part != nil:
		f.part = append(append(f.part, '\n'), data...)
	case bytes.Equal(data, doneMark):
		f.done = true
	case len(data) == 0:
	case data[0] != '{' || f.whole(data):
		return data, nil
	default:
		f.part = append(make([]byte, 0, 2*len(data)), data...)
	}
	return nil, nil
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

// failureIn is what is wrong with a frame: it is no object, or an error.
func failureIn(frame []byte) error {
	if frame[0] != '{' {
		if _, known := readError(frame); known {
			return failure(frame)
		}
		return errGarbage
	}
	if bytes.Contains(frame, errorKey) {
		// Answers may have that key further down, and then an error of null.
		var top struct {
			Error json.RawMessage `json:"error"`
		}
		if json.Unmarshal(frame, &top) == nil && failed(top.Error) {
			return failure(frame)
		}
	}
	return nil
}

// failure is an error that the server describes so.
func failure(data []byte) error { return &Failure{bytes.Clone(bytes.TrimSpace(data))} }

// readLine returns a line without allocating for those that fit the buffer.
// It is valid until the next call.
func (f *frames) readLine() ([]byte, error) {
	line, err := f.in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	f.line = append(f.line[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = f.in.ReadSlice('\n')
		f.line = append(f.line, line...)
	}
	return f.line, err
}

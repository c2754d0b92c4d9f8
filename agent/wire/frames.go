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

// frames reads the body of a 200 as real servers send it. It returns the JSON
// objects after "data:", up to "data: [DONE]", each with the type of its event.
// It skips comments and other fields. Error frames of all forms become errors.
// A body that is one JSON document, from a server that does not stream, becomes
// one frame.
type frames struct {
	body    io.ReadCloser
	in      *bufio.Reader
	partial []byte // the first lines of a frame of several
	line    []byte // a line longer than the buffer of in
	// event is the type of the current event, last the newest type that was read.
	event, last string
	started     bool
	encoding    string // of the body: see [encodingOf]
	most        int64  // the most bytes of a decoded body
	done        bool   // [DONE] was seen, or the answer was one document
}

// readerPool holds the readers of calls that have ended.
var readerPool = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4096) }}

func (f *frames) reset(body io.ReadCloser) {
	f.release()
	*f = frames{body: body, in: readerPool.Get().(*bufio.Reader)}
	f.in.Reset(body)
}

// release returns the reader to the pool. Nothing may be read afterwards.
func (f *frames) release() {
	if f.in != nil {
		f.in.Reset(nil)
		readerPool.Put(f.in)
		f.in = nil
	}
}

// next returns one frame, which is valid until the next call. It returns io.EOF
// at the end of the stream; done is then set if the server marked the end.
func (f *frames) next() (event string, frame []byte, err error) {
	if !f.started {
		f.started = true
		f.decode()
		frame, err = f.start()
	}
	for frame == nil && err == nil {
		if f.done {
			return "", nil, io.EOF
		}
		line, end := f.readLine()
		if end != nil && !errors.Is(end, io.EOF) {
			return "", nil, end
		}
		frame, err = f.parseLine(bytes.TrimSpace(line))
		if frame == nil && err == nil && end != nil {
			frame, f.partial = f.partial, nil
			if frame == nil {
				err = end
			}
		}
	}
	if err == nil {
		err = frameError(frame)
	}
	event, f.event = f.event, ""
	return event, frame, err
}

// decode makes f read what a compressed body means.
func (f *frames) decode() {
	plain := decoded(f.in, f.encoding, f.most)
	if plain != nil {
		f.in = bufio.NewReader(plain) // the reader below it does not return to the pool
	}
}

// start looks at the first byte that is not a blank. It tells an event stream
// from a JSON document, and returns the document.
func (f *frames) start() (document []byte, err error) {
	for {
		c, err := f.in.ReadByte()
		if err != nil {
			return nil, err
		}
		switch c {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF: // blanks, or a byte order mark
		case '<':
			return nil, &agent.ModelError{Kind: agent.ErrorRefused, Status: 200, Cause: agent.CauseURL, Err: errors.New(errorPrefix + "the server answered with a web page; the base URL must end where the API begins (often /v1)")}
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

// parseLine handles one line, and returns the frame that ends with it. The last
// line may be cut. Its JSON is then invalid, and decoding it fails.
func (f *frames) parseLine(line []byte) (frame []byte, err error) {
	data, isData := bytes.CutPrefix(line, dataField)
	data = bytes.TrimSpace(data)
	switch {
	case len(line) == 0:
		frame, f.partial = f.partial, nil
		if frame == nil {
			f.event = ""
		}
		return frame, nil
	case bytes.HasPrefix(line, eventField):
		if event := bytes.TrimSpace(line[len(eventField):]); string(event) != f.last {
			f.last = string(event)
		}
		f.event = f.last
	case bytes.HasPrefix(line, errorField):
		return nil, streamError(line[len(errorField):])
	case !isData:
	case f.event == "error":
		return nil, streamError(data)
	case f.partial != nil:
		f.partial = append(append(f.partial, '\n'), data...)
	case bytes.Equal(data, doneMark):
		f.done = true
	case len(data) == 0:
	case data[0] != '{' || f.complete(data):
		return data, nil
	default:
		f.partial = append(make([]byte, 0, 2*len(data)), data...)
	}
	return nil, nil
}

// complete reports whether data is the whole event. Usually the blank line that
// ends the event is already buffered. Servers without blank lines send one
// object a line.
func (f *frames) complete(data []byte) bool {
	if f.in.Buffered() > 0 {
		if b, _ := f.in.Peek(1); b[0] == '\n' || b[0] == '\r' {
			return true
		}
	}
	return json.Valid(data)
}

// frameError returns the error in a frame: the frame is not an object, or it
// reports an error.
func frameError(frame []byte) error {
	if frame[0] != '{' {
		if _, known := readError(frame); known {
			return streamError(frame)
		}
		return errors.New("the stream has a data line that is not a JSON object")
	}
	if bytes.Contains(frame, errorKey) {
		// An answer may have this key too: deeper inside, or with the value null.
		var top struct {
			Error json.RawMessage `json:"error"`
		}
		if json.Unmarshal(frame, &top) == nil && hasError(top.Error) {
			return streamError(frame)
		}
	}
	return nil
}

func streamError(data []byte) error { return &StreamError{bytes.Clone(bytes.TrimSpace(data))} }

// readLine returns the next line, without allocating if it fits into the
// buffer. The line is valid until the next call.
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

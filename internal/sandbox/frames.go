package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// What a daemon and a helper in a unit of its own say to each other, over a socket: pieces
// with a kind and a length. The daemon sends one request; a helper sends what a command
// prints and how it ended.
const (
	frameRequest = 'r'
	frameOutput  = 'o'
	frameCode    = 'x' // the exit code, in digits
	frameClosed  = 'c' // why nothing ran, a sentence

	mostFrame = 64 << 10
)

// request is what a helper is to do. It only gains fields.
type request struct {
	// Of a command:
	Line    string `json:"line,omitempty"`
	Dir     string `json:"dir,omitempty"`
	Seconds int    `json:"seconds,omitempty"`
	Probe   bool   `json:"probe,omitempty"` // try system calls instead
	// Of a server:
	Name    string   `json:"name,omitempty"`
	Command []string `json:"command,omitempty"`
	Env     []string `json:"env,omitempty"`
}

// writeFrame writes one piece.
func writeFrame(w io.Writer, kind byte, data []byte) error {
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(data)))
	_, err := w.Write(append(head, data...))
	return err
}

// readFrame reads one piece, and nothing after it. io.EOF: there is none.
func readFrame(r io.Reader) (kind byte, data []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > mostFrame {
		return 0, nil, fmt.Errorf("sandbox: a piece of %d bytes", n)
	}
	data = make([]byte, n)
	_, err = io.ReadFull(r, data)
	if errors.Is(err, io.EOF) && n > 0 {
		err = io.ErrUnexpectedEOF
	}
	return head[0], data, err
}

// readRequest reads the piece that a helper begins with.
func readRequest(r io.Reader) (q request, err error) {
	kind, data, err := readFrame(r)
	if err == nil && kind != frameRequest {
		err = fmt.Errorf("sandbox: a request of the kind %q", kind)
	}
	if err == nil {
		err = json.Unmarshal(data, &q)
	}
	return q, err
}

// framer writes what a command prints as pieces.
type framer struct{ w io.Writer }

func (f framer) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p[:min(len(p), mostFrame)]
		if err := writeFrame(f.w, frameOutput, part); err != nil {
			return n, err
		}
		n += len(part)
		p = p[len(part):]
	}
	return n, nil
}

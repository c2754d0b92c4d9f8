package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// checkedBody is an answer over HTTP of which the library reads only what passes the gate.
type checkedBody struct {
	io.Closer
	of   *bounded
	next func() ([]byte, error) // more of it; nil: nothing of use
	rest []byte
	err  error
}

func (b *checkedBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 && b.err == nil {
		b.rest, b.err = b.next()
		b.of.note(b.err)
	}
	if len(b.rest) == 0 {
		return 0, b.err
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// checked is body with what passes the gate: one message, or a stream of them.
func (b *bounded) checked(body io.ReadCloser, isStream, isJSON bool) io.ReadCloser {
	c := &checkedBody{Closer: body, of: b}
	if isStream {
		in := bufio.NewReader(body)
		c.next = func() ([]byte, error) { return b.event(in) }
		return c
	}
	c.next = func() ([]byte, error) {
		text, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		message, err := b.message(text)
		if err != nil && isJSON {
			return nil, err
		}
		return message, io.EOF // a page that comes with a bad status is no message
	}
	return c
}

// message is text if it is a message that may pass; nil if not.
func (b *bounded) message(text []byte) ([]byte, error) {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return nil, nil
	case text[0] != '{':
		return nil, errJSON
	}
	return b.gate.pass(text)
}

// event is the next event of a stream, without what is no message, and without its id: the
// library would go on with the stream elsewhere, which it is told not to do, and then give up
// the connection.
func (b *bounded) event(in *bufio.Reader) ([]byte, error) {
	var data []byte
	isMessage := true
	for {
		line, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch string(field) {
		case "event":
			isMessage = len(value) == 0 || string(value) == "message"
		case "data":
			if len(data)+len(value) > maxFrame {
				return nil, errFrame
			}
			data = append(append(data, ' '), value...)
		}
		if len(line) > 0 && err == nil {
			continue
		}
		if !isMessage {
			return nil, err
		}
		message, wrong := b.message(bytes.ReplaceAll(data, []byte("\r"), []byte(" ")))
		if message == nil || wrong != nil {
			return nil, errors.Join(wrong, err)
		}
		return append(append([]byte("data: "), message...), "\n\n"...), err
	}
}

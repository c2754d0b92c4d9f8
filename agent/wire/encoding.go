package wire

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"dragoman/agent"
)

// Requests ask for no compression, which makes a stream late. Some proxies compress all the
// same, and some of them do not say so.

const encodingDeflate = "deflate"

// encodingOf returns how a body is compressed by its header: "" (or gzip, which its first
// bytes show) or deflate. It returns an [agent.ModelError] for what we cannot read.
func encodingOf(h http.Header) (string, error) {
	name := strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ", ")))
	switch name {
	case "", "identity", "none", "utf-8", "gzip", "x-gzip":
		return "", nil
	case encodingDeflate:
		return encodingDeflate, nil
	}
	text := fmt.Sprintf("the answer is compressed (%.40q), which Dragoman did not ask for and cannot read; turn that off in the server or in the proxy before it", name)
	return "", &agent.ModelError{Kind: agent.ErrorRefused, Err: errors.New(errorPrefix + text)}
}

// decoded returns what in means if it is compressed: at most most bytes, then errTooLarge.
// It returns nil if it is not. in keeps all that was read of it.
func decoded(in *bufio.Reader, encoding string, most int64) io.Reader {
	head, err := in.Peek(2)
	if err != nil {
		return nil // shorter, or the next read fails too
	}
	var open func(io.Reader) (io.Reader, error)
	switch {
	case head[0] == 0x1f && head[1] == 0x8b:
		open = func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
	case encoding != encodingDeflate || head[0] == '{' || bytes.Equal(head, dataField[:2]) || bytes.Equal(head, eventField[:2]):
		return nil // the header may name what a proxy has undone
	case head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0:
		open = func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }
	default: // what some servers mean by deflate
		open = func(r io.Reader) (io.Reader, error) { return flate.NewReader(r), nil }
	}
	return &decoder{open: func() (io.Reader, error) { return open(in) }, left: most}
}

// decoder opens a compressed body at its first read.
type decoder struct {
	open func() (io.Reader, error)
	in   io.Reader
	left int64
}

func (d *decoder) Read(p []byte) (int, error) {
	if d.in == nil {
		in, err := d.open()
		if err != nil {
			return 0, fmt.Errorf("read the compressed answer: %w", err)
		}
		d.in = in
	}
	if d.left <= 0 {
		return 0, errTooLarge
	}
	n, err := d.in.Read(p[:min(int64(len(p)), d.left)])
	d.left -= int64(n)
	return n, err
}

// decodedError returns what the body of an error means, as far as it can be read.
func decodedError(body []byte, encoding string) []byte {
	plain := decoded(bufio.NewReader(bytes.NewReader(body)), encoding, maxErrorBody)
	if plain == nil {
		return body
	}
	text, _ := io.ReadAll(plain) // a cut one is better than none
	return text
}

package wasim

import "io"

// ReadFrame and WriteFrame are for the fuzz test.
func ReadFrame(r io.Reader) ([]byte, error) { return readFrame(r) }

func WriteFrame(w io.Writer, data []byte) error { return writeFrame(w, data) }

// Greet is for the fuzz test.
func Greet(rw io.ReadWriter) error {
	_, err := theAuthority().greet(rw)
	return err
}

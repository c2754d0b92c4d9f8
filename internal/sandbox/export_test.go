package sandbox

import "io"

// ReadRequest reads what a helper is asked, as it does.
func ReadRequest(r io.Reader) error {
	_, err := readRequest(r)
	return err
}

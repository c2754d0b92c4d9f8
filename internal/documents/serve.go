package documents

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MostBytes is how large a document may be: it is in memory while it is read.
const MostBytes = 64 << 20

// why says in a sentence after the document's name why it was not read.
var why = map[error]string{
	ErrKind:     "is no document that can be read: an archive, or of a program that is not known",
	ErrLocked:   "is protected by a password; ask for it without one",
	ErrBroken:   "is damaged, and cannot be read",
	ErrTooLarge: "is too large when it is unpacked, and cannot be read",
}

// Serve is a work of internal/sandbox: it reads the document in and writes its text. Its
// error is a sentence that follows the document's name. What was read before something
// went wrong is written, and after it a line says what is missing.
func Serve(in io.Reader, out io.Writer) error {
	data, err := io.ReadAll(io.LimitReader(in, MostBytes+1))
	if err != nil {
		return fmt.Errorf("cannot be read just now (%w)", err)
	}
	if len(data) > MostBytes {
		return fmt.Errorf("has more than %d MB, and cannot be read", MostBytes>>20)
	}
	wrote := &counted{to: out}
	_, err = Read(wrote, bytes.NewReader(data), int64(len(data)), Usual)
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrCut) {
		return note(out, "The document goes on; its first %d MB of text are here.", Usual.Text>>20)
	}
	for known, sentence := range why {
		if !errors.Is(err, known) {
			continue
		}
		if wrote.n == 0 {
			return errors.New(sentence)
		}
		return note(out, "The rest %s.", sentence)
	}
	return fmt.Errorf("cannot be read (%w)", err)
}

// note writes a line of ours after the text.
func note(out io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintf(out, "\n["+format+"]\n", args...)
	return err
}

// counted knows whether anything was written.
type counted struct {
	to io.Writer
	n  int
}

func (c *counted) Write(p []byte) (int, error) {
	c.n += len(p)
	return c.to.Write(p)
}

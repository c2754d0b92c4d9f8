package documents

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// archive is an opened document: its parts by name, and how much may still be
// unpacked.
type archive struct {
	files  map[string]*zip.File
	main   string // the part of Microsoft's family that a document begins with
	limits Limits
	left   int64
}

func (a *archive) has(part string) bool { return a.files[part] != nil }

// small returns a part of a few bytes, without white space around it.
func (a *archive) small(part string) (string, error) {
	r, err := a.open(part)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, 200))
	if err != nil {
		return "", broken(part, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// whole returns a part that must be in memory at once.
func (a *archive) whole(part string) ([]byte, error) {
	r, err := a.open(part)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(r); err != nil {
		return nil, broken(part, err)
	}
	return b.Bytes(), nil
}

// open unpacks a part. The reader ends with an error where a limit does.
func (a *archive) open(part string) (io.ReadCloser, error) {
	f := a.files[part]
	if f == nil {
		return nil, fmt.Errorf("%w: it has no %q", ErrBroken, part)
	}
	if f.Flags&1 != 0 {
		return nil, ErrLocked
	}
	r, err := f.Open()
	if err != nil {
		return nil, broken(part, err)
	}
	return &bounded{ReadCloser: r, a: a, part: part, left: a.limits.Part}, nil
}

// bounded counts what is unpacked. What the archive's list says of sizes is not
// believed.
type bounded struct {
	io.ReadCloser
	a    *archive
	part string
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	b.a.left -= int64(n)
	if b.left < 0 || b.a.left < 0 {
		return 0, fmt.Errorf("%w: unpacked, %q has more than can be read", ErrTooLarge, b.part)
	}
	return n, err
}

// broken names the part in which reading ended. Limits keep their own error.
func broken(part string, err error) error {
	if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrCut) || errors.Is(err, ErrLocked) || errors.Is(err, ErrBroken) {
		return err
	}
	return fmt.Errorf("%w: %q: %w", ErrBroken, part, err)
}

package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"syscall"
	"unicode/utf8"

	"dragoman/agent"
	"dragoman/sessions"
)

// readArgs are the arguments of read_file.
type readArgs struct {
	Path   string `json:"path" jsonschema:"Like notes/today.md"`
	Offset number `json:"offset,omitempty" jsonschema:"Byte to begin at"`
	Limit  number `json:"limit,omitempty"` // most bytes
}

var _ = builtin(func(n Needs) agent.Tool { return ReadFile(n.Workspace) })

// ReadFile is the tool read_file: one page of a text file in w.
func ReadFile(w *Workspace) agent.Tool {
	return newReader(agent.Spec{
		Name:        "read_file",
		Description: "Read a text file in the workspace. Long files come in pages.",
		Origin:      sessions.OriginFile,
		Keep:        -30,
	}, inWorkspace(w, func(_ context.Context, w *Workspace, c agent.Call, args readArgs) (string, error) {
		return w.read(args.Path, int64(args.Offset), args.Limit.clamp(filePage, filePage))
	}))
}

// read returns at most limit bytes of the file, starting at offset, and says which
// bytes they are.
func (w *Workspace) read(path string, offset int64, limit int) (string, error) {
	clean, err := local(path)
	if err != nil {
		return "", err
	}
	f, size, err := w.openRegular(clean)
	if err != nil {
		return "", err
	}
	defer f.Close() // nothing was written
	switch {
	case offset < 0:
		return "", errors.New("the offset is negative")
	case size == 0:
		return fmt.Sprintf("[%s is empty]", clean), nil
	case offset >= size:
		return "", fmt.Errorf("%q has %d bytes; offset %d is past its end", clean, size, offset)
	}
	page := make([]byte, limit+pageRest)
	n, err := f.ReadAt(page, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", explain(clean, err)
	}
	return renderPage(clean, page[:n], offset, limit, size)
}

// openRegular opens a file for reading and checks the open file, not the path.
func (w *Workspace) openRegular(path string) (f *os.File, size int64, err error) {
	// Without O_NONBLOCK, opening a FIFO would wait for a writer for ever.
	f, err = w.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, 0, explain(path, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(path, info)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// filePage is how many bytes of a file one call shows.
const filePage = 32 << 10

// pageRest is how many bytes are read beyond a page's limit: the rest of a rune that
// the offset cuts, and of one that the limit cuts.
const pageRest = 2 * utf8.UTFMax

// renderPage puts a line in front of a page that says which part it is. page begins
// at offset and holds up to pageRest bytes more than limit. If more follows, the page
// ends after its last line break if that is in its second half, otherwise before the
// rune that the limit cuts, or after that rune if it is the only one.
func renderPage(path string, page []byte, offset int64, limit int, size int64) (string, error) {
	begin := 0
	if offset > 0 {
		for begin < len(page) && begin < utf8.UTFMax-1 && !utf8.RuneStart(page[begin]) {
			begin++
		}
	}
	end := min(max(limit, begin+1), len(page))
	before := end
	for before > begin && before < len(page) && !utf8.RuneStart(page[before]) {
		before--
	}
	if before > begin {
		end = before
	}
	for end < len(page) && !utf8.RuneStart(page[end]) {
		end++
	}
	if i := bytes.LastIndexByte(page[:end], '\n'); offset+int64(end) < size && i >= (begin+end)/2 {
		end = i + 1
	}
	text := page[begin:end]
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return "", fmt.Errorf("%q is not UTF-8 text (%d bytes; it looks like %s) and cannot be shown", path, size, http.DetectContentType(page))
	}
	from, to := offset+int64(begin), offset+int64(end)
	switch {
	case from == 0 && to >= size:
		return string(text), nil
	case to >= size:
		return fmt.Sprintf("[%s: bytes %d to %d of %d, the end]\n%s", path, from, to, size, text), nil
	}
	return fmt.Sprintf("[%s: bytes %d to %d of %d; go on with offset %d]\n%s", path, from, to, size, to, text), nil
}

// ReadFile reads a whole file of w for the program itself, with the same protection
// as the tools: a HEARTBEAT.md that is a link to another place is not followed. It
// reads at most one byte more than most, so that the caller can tell that there is
// more. A missing file is [fs.ErrNotExist].
func (w *Workspace) ReadFile(name string, most int64) ([]byte, error) {
	clean, err := local(name)
	if err != nil {
		return nil, fmt.Errorf("tools: read: %w", err)
	}
	if _, err := w.root.Stat(clean); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("tools: read %s: %w", clean, fs.ErrNotExist)
	}
	f, _, err := w.openRegular(clean)
	if err != nil {
		return nil, fmt.Errorf("tools: read: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("tools: read: %w", explain(clean, err))
	}
	return content, nil
}

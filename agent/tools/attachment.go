package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// Attachments reads files that came with messages.
type Attachments interface {
	// ReadPart reads a part of a file of k's conversation, starting at off, and
	// returns the number of bytes read and the file's size. The end of the file is
	// not an error. If the conversation has no such file, the error is
	// [fs.ErrNotExist].
	ReadPart(k channels.Key, file string, p []byte, off int64) (n int, size int64, err error)
}

// Documents reads what is in files that are not text themselves.
type Documents interface {
	// Is reports whether a file that begins with head may be a document.
	Is(head []byte) bool
	// Text returns the text of a document. The error is a sentence that follows the
	// document's name, for the model.
	Text(ctx context.Context, document io.Reader) (string, error)
}

const (
	// headBytes is how much of a file is read to find its type.
	headBytes = 1 << 10
	// maxFile limits the name that the model writes.
	maxFile = 512
)

// attachmentArgs are the arguments of read_attachment.
type attachmentArgs struct {
	File   string `json:"file" jsonschema:"What follows the word file in the message's line, like telegram_7/k3….txt"`
	Offset number `json:"offset,omitempty"` // as in readArgs, which tells what it is
	Limit  number `json:"limit,omitempty"`
}

var _ = builtin(func(n Needs) agent.Tool { return ReadAttachment(n.Attachments, n.Documents) })

// ReadAttachment is the tool read_attachment: one page of a text file or a document
// that was sent in the current conversation.
func ReadAttachment(files Attachments, documents Documents) agent.Tool {
	r := &attachmentReader{files, documents}
	return newReader(agent.Spec{
		Name:        "read_attachment",
		Description: "Read a text, PDF, office document or book that was sent in this conversation, in pages.",
		Origin:      sessions.OriginSent,
		Keep:        30,
		Chat:        true,
	}, func(ctx context.Context, c agent.Call, args attachmentArgs) (string, error) {
		c.Mark(sessions.OriginFile) // the file's name in a refusal is somebody's words, too
		return r.page(ctx, c.Key, args.File, int64(args.Offset), args.Limit.clamp(filePage, filePage))
	})
}

// attachmentReader is what the tool works with.
type attachmentReader struct {
	files     Attachments
	documents Documents
}

func (r *attachmentReader) page(ctx context.Context, k channels.Key, file string, offset int64, limit int) (string, error) {
	if i := strings.LastIndex(file, "file "); i >= 0 {
		file = file[i+len("file "):] // some models repeat the whole line
	}
	file = strings.Trim(file, `"[] `)
	switch {
	case k.IsZero():
		return "", errors.New("there is no conversation here, so there are no files")
	case file == "":
		return "", errors.New("the file is empty; use what follows the word \"file\" in the message's line")
	case len(file) > maxFile:
		return "", fmt.Errorf("the name has %d bytes; use what follows the word \"file\" in the message's line", len(file))
	case offset < 0:
		return "", errors.New("the offset is negative")
	}
	label := fmt.Sprintf("%.60q", path.Base(file))
	head := make([]byte, headBytes)
	n, size, err := r.files.ReadPart(k, file, head, 0)
	if err != nil {
		return "", attachmentError(label, err)
	}
	head = head[:n]
	if r.documents.Is(head) {
		text, err := r.documents.Text(ctx, NewAttachmentReader(r.files, k, file))
		if err != nil {
			return "", fmt.Errorf("%s (%s) %w", label, channels.SizeText(size), err)
		}
		return documentPage(path.Base(file), text, offset, limit)
	}
	if why := unreadable(head); why != "" {
		return "", fmt.Errorf("%s (%s) %s", label, channels.SizeText(size), why)
	}
	switch {
	case size == 0:
		return fmt.Sprintf("[%s is empty]", label), nil
	case offset >= size:
		return "", fmt.Errorf("%s has %d bytes; offset %d is past its end", label, size, offset)
	}
	page := make([]byte, limit+pageRest)
	n, size, err = r.files.ReadPart(k, file, page, offset)
	if err != nil {
		return "", attachmentError(label, err)
	}
	text, err := renderPage(path.Base(file), page[:n], offset, limit, size)
	if err != nil {
		return "", fmt.Errorf("%s (%s) is not UTF-8 text throughout, and cannot be read; ask for it as UTF-8 text", label, channels.SizeText(size))
	}
	if offset == 0 {
		text = strings.Replace(text, "\uFEFF", "", 1) // a byte order mark
	}
	return text, nil
}

// attachmentError hides the operating system's message, and where files are stored,
// from the model.
func attachmentError(label string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s in this conversation (any more); messages name theirs after the word \"file\"", label)
	}
	return fmt.Errorf("%s cannot be read just now", label)
}

// documentPage cuts a page out of a document's text. Each page reads the whole document
// again: that takes some hundredths of a second, and keeps nothing.
func documentPage(name, text string, offset int64, limit int) (string, error) {
	size := int64(len(text))
	switch {
	case size == 0:
		return fmt.Sprintf("[%q has no text]", name), nil
	case offset >= size:
		return "", fmt.Errorf("the text of %q has %d bytes; offset %d is past its end", name, size, offset)
	}
	return renderPage(name, []byte(text[offset:min(offset+int64(limit)+pageRest, size)]), offset, limit, size)
}

// NewAttachmentReader reads a file of k's conversation from its beginning to its end.
func NewAttachmentReader(files Attachments, k channels.Key, file string) io.Reader {
	return &parts{files: files, key: k, file: file}
}

// parts is such a reader.
type parts struct {
	files Attachments
	key   channels.Key
	file  string
	at    int64
}

func (p *parts) Read(b []byte) (int, error) {
	n, size, err := p.files.ReadPart(p.key, p.file, b, p.at)
	p.at += int64(n)
	if err == nil && n == 0 && p.at >= size {
		err = io.EOF
	}
	return n, err
}

// kinds are types of files that are not text, by their first bytes.
var kinds = []struct{ begin, is string }{
	{"{\\rtf", "is a rich text document (RTF), a kind that cannot be read yet; ask for plain text"},
	{"\xff\xfe", "is UTF-16 text, which cannot be read; ask for it as UTF-8"},
	{"\xfe\xff", "is UTF-16 text, which cannot be read; ask for it as UTF-8"},
}

// unreadable says why a file that begins with head cannot be shown as text, or "".
// The media type that the sender's program gave is ignored, because most programs
// have none for source code.
func unreadable(head []byte) string {
	for _, k := range kinds {
		if bytes.HasPrefix(head, []byte(k.begin)) {
			return k.is
		}
	}
	media, _, _ := strings.Cut(http.DetectContentType(head), ";")
	kind, _, _ := strings.Cut(media, "/")
	switch {
	case kind == "image" && media != "image/svg+xml":
		return "is a picture, which has no text to read; a model that sees is shown it with its message"
	case kind == "audio" || kind == "video" || media == "application/ogg":
		return "is a recording (" + media + "), a kind that cannot be read yet"
	case kind != "text" || bytes.IndexByte(head, 0) >= 0:
		return "is not text (it looks like " + media + "), a kind that cannot be read yet"
	}
	return ""
}

package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
)

// Files keeps what people send with messages. A file is sent first and named
// by the message then, so that a message stays small and safe to repeat.
type Files interface {
	// Put keeps what r gives and returns what to call it by, which nobody can
	// guess. A *channels.Gone says why it will never be kept. What no message
	// names for a day may be forgotten.
	Put(ctx context.Context, r io.Reader) (ref string, size int64, err error)
	// Sent opens attachment i of m, which has its Ref, and says how large it
	// is. An error that is [fs.ErrNotExist] says that it is not there.
	Sent(m channels.Inbound, i int) (io.ReadCloser, int64, error)
}

const (
	// fileWithin bounds how slowly a file may be sent, or read.
	fileWithin = 5 * time.Minute
	// uploads is how many files come in at the same time.
	uploads = 4
	// maxFileName bounds what a sender calls a file.
	maxFileName = 255
)

// File is a file that came with a message.
type File struct {
	Name  string `json:"name,omitempty"`
	Type  string `json:"type,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	// Ref is what [Files] knows it by; nobody else is told.
	Ref string `json:"-"`
}

// postedFile is a file in the body of a message.
type postedFile struct {
	Ref  string `json:"ref"`
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
}

var errNoFiles = &refusal{http.StatusBadRequest, "Files cannot be sent here.", false}

// postFile takes one file, which is the whole body.
func (h *Hub) postFile(w http.ResponseWriter, r *http.Request, _ channels.Key) error {
	if h.opts.Files == nil {
		return errNoFiles
	}
	if r.ContentLength > h.opts.MaxFile {
		return &refusal{http.StatusRequestEntityTooLarge, "The file is too large: at most " + channels.SizeText(h.opts.MaxFile) + " fit.", false}
	}
	select {
	case h.uploads <- struct{}{}:
		defer func() { <-h.uploads }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(fileWithin)) // not every writer can; the server has limits of its own
	_ = control.SetWriteDeadline(time.Now().Add(fileWithin + time.Minute))
	ref, size, err := h.opts.Files.Put(r.Context(), r.Body)
	var gone *channels.Gone
	switch {
	case errors.As(err, &gone):
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		return &refusal{http.StatusRequestEntityTooLarge, "The file cannot be kept: " + gone.Why + ".", false}
	case err != nil:
		h.log.Warn("file not kept", "err", err)
		return &refusal{http.StatusServiceUnavailable, "The file did not arrive completely, or could not be stored. Try again.", true}
	}
	answer(w, http.StatusOK, map[string]any{"ref": ref, "bytes": size})
	return nil
}

// attachFiles puts the files that a message names into m. A message that is
// repeated finds its files too.
func (h *Hub) attachFiles(m *channels.Inbound, files []postedFile) error {
	switch {
	case len(files) > 0 && h.opts.Files == nil:
		return errNoFiles
	case len(files) > channels.MaxAttachments:
		return &refusal{http.StatusBadRequest, fmt.Sprintf("At most %d files fit into one message.", channels.MaxAttachments), false}
	}
	for _, f := range files {
		a := channels.Attachment{Kind: channels.AttachmentDocument, Name: fileName(f.Name), Ref: f.Ref}
		if kind, _, err := mime.ParseMediaType(f.Type); err == nil && len(kind) <= 100 {
			a.Type = kind
		}
		switch kind, _, _ := strings.Cut(a.Type, "/"); kind {
		case "image":
			a.Kind = channels.AttachmentImage
		case "audio":
			a.Kind = channels.AttachmentAudio
		case "video":
			a.Kind = channels.AttachmentVideo
		}
		m.Attachments = append(m.Attachments, a)
	}
	for i := range m.Attachments {
		content, size, err := h.opts.Files.Sent(*m, i)
		if errors.Is(err, fs.ErrNotExist) {
			return &refusal{http.StatusBadRequest, "A file of this message is no longer here. Attach it again.", false}
		}
		if err != nil {
			h.log.Warn("file not found", "err", err)
			return &refusal{http.StatusServiceUnavailable, "A file of this message cannot be read just now. Try again.", true}
		}
		_ = content.Close() // nothing was read
		m.Attachments[i].Bytes = size
	}
	return nil
}

// fileName is what a sender calls a file, without what cannot be shown.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
	if len(s) > maxFileName {
		s = strings.ToValidUTF8(s[:maxFileName], "")
	}
	return strings.TrimSpace(s)
}

// pictures are the kinds of files that a page may show, by their content.
var pictures = map[string]bool{"image/jpeg": true, "image/png": true, "image/gif": true, "image/webp": true}

// readFile shows file n of the message numbered seq. Whatever a sender says
// that a file is, a browser gets a picture, or something to save.
func (h *Hub) readFile(w http.ResponseWriter, r *http.Request, k channels.Key) error {
	none := &refusal{http.StatusNotFound, "There is no such file.", false}
	seq, okSeq := number(r.URL.Query().Get("seq"), 0)
	n, okN := number(r.URL.Query().Get("n"), 0)
	if h.opts.Files == nil || !okSeq || !okN || seq == 0 {
		return none
	}
	ctx, cancel := context.WithTimeout(r.Context(), feedWithin)
	defer cancel()
	items, err := h.feed(ctx, k, seq+1, 1)
	switch {
	case err != nil:
		h.log.Warn("history could not be read", "key", k.String(), "err", err)
		return &refusal{http.StatusServiceUnavailable, "The history cannot be read just now. Try again.", true}
	case len(items) != 1 || items[0].Seq != seq || n >= int64(len(items[0].Files)):
		return none
	}
	m := channels.Inbound{Key: k, ID: items[0].ID}
	for _, f := range items[0].Files {
		m.Attachments = append(m.Attachments, channels.Attachment{Type: f.Type, Ref: f.Ref})
	}
	content, size, err := h.opts.Files.Sent(m, int(n))
	if err != nil {
		return none
	}
	defer content.Close() // only read
	show(w, items[0].Files[n].Name, content, size)
	return nil
}

// show sends a file. Nothing in it runs: it is no document of ours to a
// browser, and what is no picture is saved.
func show(w http.ResponseWriter, name string, content io.Reader, size int64) {
	head := make([]byte, 512)
	got, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		got = 0
	}
	head = head[:got]
	kind, how := "application/octet-stream", "attachment"
	if sniffed := http.DetectContentType(head); pictures[sniffed] {
		kind, how = sniffed, "inline"
	}
	name = cmp.Or(name, "file")
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": strings.Map(plain, name)}))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "no-store")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(fileWithin))
	if _, err := w.Write(head); err == nil {
		_, _ = io.Copy(w, content) // a broken connection is the reader's to notice
	}
}

// plain keeps a name from being read as a path.
func plain(r rune) rune {
	if r == '/' || r == '\\' || r == '"' {
		return '_'
	}
	return r
}

// maxFile is the size of the largest file, 0 where none can be sent.
func (h *Hub) maxFile() int64 {
	if h.opts.Files == nil {
		return 0
	}
	return h.opts.MaxFile
}

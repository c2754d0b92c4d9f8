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
	"dragoman/internal/respond"
)

// Files stores the files that people send with messages. A file is uploaded first,
// and a message then names it, so that messages stay small and safe to repeat.
type Files interface {
	// Put stores the content of r and returns a name for it that is impossible to
	// guess. A *channels.Gone error says why the file will never be accepted. A
	// file that no message names within a day may be deleted.
	Put(ctx context.Context, r io.Reader) (ref string, size int64, err error)
	// Sent opens attachment i of m, which has its Ref, and returns its size. The
	// error is [fs.ErrNotExist] if there is no such file.
	Sent(m channels.Inbound, i int) (io.ReadCloser, int64, error)
}

const (
	// fileTimeout bounds uploading or downloading one file.
	fileTimeout = 5 * time.Minute
	// uploads is how many files may be uploaded at the same time.
	uploads = 4
	// maxFileName bounds the name of a file, in bytes.
	maxFileName = 255
)

// File is a file that came with a message.
type File struct {
	Name  string `json:"name,omitempty"`
	Type  string `json:"type,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	// Ref is its name in [Files]. It is secret.
	Ref string `json:"-"`
}

// postedFile is a file that a message carries: postFile stored it, and Ref is what
// it returned.
type postedFile struct {
	Ref  string `json:"ref"`
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
}

var errNoFiles = badRequest("Files cannot be sent here.")

// postFile stores one file, which is the whole body.
func (h *Hub) postFile(w http.ResponseWriter, r *http.Request, _ channels.Key) error {
	if h.opts.Files == nil {
		return errNoFiles
	}
	if r.ContentLength > h.opts.MaxFile {
		return tooLarge("The file is too large: at most " + channels.SizeText(h.opts.MaxFile) + " fit.")
	}
	select {
	case h.uploads <- struct{}{}:
		defer func() { <-h.uploads }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(fileTimeout)) // if unsupported, the server's own limits apply
	_ = control.SetWriteDeadline(time.Now().Add(fileTimeout + time.Minute))
	ref, size, err := h.opts.Files.Put(r.Context(), r.Body)
	var gone *channels.Gone
	switch {
	case errors.As(err, &gone):
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		return tooLarge("The file cannot be kept: " + gone.Why + ".")
	case err != nil:
		h.log.Warn("file not kept", "err", err)
		return unavailable("The file did not arrive completely, or could not be stored. Try again.")
	}
	respond.JSON(w, http.StatusOK, map[string]any{"ref": ref, "bytes": size})
	return nil
}

// attachFiles adds the files that a message names to m. A repeated message may name
// them again.
func (h *Hub) attachFiles(m *channels.Inbound, files []postedFile) error {
	switch {
	case len(files) > 0 && h.opts.Files == nil:
		return errNoFiles
	case len(files) > channels.MaxAttachments:
		return badRequest(fmt.Sprintf("At most %d files fit into one message.", channels.MaxAttachments))
	}
	for _, f := range files {
		m.Attachments = append(m.Attachments, Attachment(f.Ref, f.Name, f.Type))
	}
	for i := range m.Attachments {
		content, size, err := h.opts.Files.Sent(*m, i)
		if errors.Is(err, fs.ErrNotExist) {
			return badRequest("A file of this message is no longer here. Attach it again.")
		}
		if err != nil {
			h.log.Warn("file not found", "err", err)
			return unavailable("A file of this message cannot be read just now. Try again.")
		}
		_ = content.Close() // only its size was needed
		m.Attachments[i].Bytes = size
	}
	return nil
}

// Attachment is an upload as part of a message, with the name and the MIME type that its
// sender gave it. ref is what [Files] returned.
func Attachment(ref, name, typ string) channels.Attachment {
	a := channels.Attachment{Kind: channels.AttachmentDocument, Name: fileName(name), Ref: ref}
	if kind, _, err := mime.ParseMediaType(typ); err == nil && len(kind) <= 100 {
		a.Type = kind
	}
	switch kind, _, _ := strings.Cut(a.Type, "/"); kind {
	case "image", "audio", "video":
		a.Kind = channels.AttachmentKind(kind)
	}
	return a
}

// fileName is the sender's name for a file without characters that cannot be shown.
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

// pictures are the content types that a page may show.
var pictures = map[string]bool{"image/jpeg": true, "image/png": true, "image/gif": true, "image/webp": true}

// readFile answers /file?seq=S&n=N: file N of the message S of this room. It looks
// the message up, so that no other room's files can be had.
func (h *Hub) readFile(w http.ResponseWriter, r *http.Request, k channels.Key) error {
	none := &respond.Refusal{Status: http.StatusNotFound, Sentence: "There is no such file."}
	seq, okSeq := number(r.URL.Query().Get("seq"), 0)
	n, okN := number(r.URL.Query().Get("n"), 0)
	if h.opts.Files == nil || !okSeq || !okN || seq == 0 {
		return none
	}
	ctx, cancel := context.WithTimeout(r.Context(), feedTimeout)
	defer cancel()
	items, err := h.feed(ctx, k, seq+1, 1)
	switch {
	case err != nil:
		return h.noHistory(k, err)
	case len(items) != 1 || items[0].Seq != seq || n >= int64(len(items[0].Files)):
		return none
	}
	m := channels.Inbound{Key: k, ID: items[0].ID + ownMark(k)}
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

// show sends a file. A browser displays it only if its content, whatever its sender
// claims, is a picture, and saves it otherwise. Nothing in it can run.
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
	h.Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": strings.Map(pathSafe, name)}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	respond.Private(h)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(fileTimeout))
	if _, err := w.Write(head); err == nil {
		_, _ = io.Copy(w, content) // the client notices a broken connection
	}
}

// pathSafe replaces what could make a name look like a path.
func pathSafe(r rune) rune {
	if r == '/' || r == '\\' || r == '"' {
		return '_'
	}
	return r
}

// maxFile is the size limit for files, 0 if none can be sent.
func (h *Hub) maxFile() int64 {
	if h.opts.Files == nil {
		return 0
	}
	return h.opts.MaxFile
}

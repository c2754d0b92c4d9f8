package api

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"

	"dragoman/channels"
	"dragoman/internal/respond"
)

// FileOf names a file that came with a message.
type FileOf struct {
	Key channels.Key `json:"key"`
	Seq int64        `json:"seq"` // of the message
	N   int          `json:"n"`   // 0: its first attachment
}

// Files opens copies of files by their names: see [Attachment.File].
type Files interface {
	// Open returns a file, which the caller closes. Errors: fs.ErrNotExist.
	Open(file string) (io.ReadCloser, error)
}

// fileWithin is how long a reader may take for a whole file.
const fileWithin = 5 * time.Minute

// errNoFile is the refusal of a file that is not there, or that the caller may not see.
var errNoFile = &respond.Refusal{Status: http.StatusNotFound, Sentence: "There is no such file."}

// file sends a file. It is found by its message, so that nobody gets one of a conversation
// that they may not read. Browsers save it, whatever its sender says that it is: nothing
// in it can run.
func (s *server) file(w http.ResponseWriter, r *http.Request, f FileOf) error {
	sight, err := s.read(r.Context(), f.Key)
	if err != nil {
		return err
	}
	if s.Files == nil || f.Seq < 1 || f.Seq < sight.From || f.N < 0 {
		return errNoFile
	}
	found, err := s.Store.Messages(r.Context(), f.Key, f.Seq-1, 1)
	if err != nil {
		return err
	}
	if len(found) != 1 || found[0].Seq != f.Seq || f.N >= len(found[0].Attachments) || found[0].Attachments[f.N].File == "" {
		return errNoFile
	}
	attachment := found[0].Attachments[f.N]
	content, err := s.Files.Open(attachment.File)
	if errors.Is(err, fs.ErrNotExist) {
		return errNoFile
	}
	if err != nil {
		return err
	}
	defer content.Close() // only read
	h := w.Header()
	h.Set("Content-Type", inBytes)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": safeName(attachment.Name)}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	respond.Private(h)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(fileWithin))
	_, _ = io.Copy(w, content) // the caller notices a broken connection
	return nil
}

// safeName is a sender's name for a file, as one that can be saved.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, name)
	return cmp.Or(strings.TrimLeft(name, "."), "file")
}

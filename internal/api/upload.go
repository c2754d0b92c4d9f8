package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"dragoman/channels"
	"dragoman/internal/respond"
)

// Uploads keeps files that are sent before the message that names them.
type Uploads interface {
	// Put stores a file and returns a name for it that is impossible to guess. A file that
	// no message names within a day may be deleted. Errors: *channels.Gone if the file
	// will never be accepted.
	Put(ctx context.Context, r io.Reader) (ref string, size int64, err error)
}

// Uploaded is a file that a message can name.
type Uploaded struct {
	Ref   string `json:"ref"`
	Bytes int64  `json:"bytes"`
}

// SentFile is an uploaded file in a message, with the name and MIME type of its sender.
type SentFile struct {
	Ref  string `json:"ref"`
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
	// Seconds is how long a voice message is. It makes a sound one: set it only for what the
	// sender recorded for this message.
	Seconds int `json:"seconds,omitempty"`
}

var errNoUploads = &respond.Refusal{Status: http.StatusBadRequest, Sentence: "Files cannot be sent here."}

// maxDrain is how much of a file that is too large is read, so that its sender gets the
// refusal and not a broken connection.
const maxDrain = 32 << 20

// upload stores the body of a request.
func (s *server) upload(w http.ResponseWriter, r *http.Request, _ None) error {
	if s.Uploads == nil {
		return errNoUploads
	}
	control := http.NewResponseController(w)
	// Where these are not supported, the limits of the server itself apply.
	_ = control.SetReadDeadline(time.Now().Add(fileWithin))
	_ = control.SetWriteDeadline(time.Now().Add(fileWithin + time.Minute))
	ref, size, err := s.Uploads.Put(r.Context(), r.Body)
	var gone *channels.Gone
	if errors.As(err, &gone) {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain) // the refusal counts, not what is left
		return &respond.Refusal{Status: http.StatusRequestEntityTooLarge, Sentence: "The file cannot be kept: " + gone.Why + "."}
	}
	if err != nil {
		s.Logger.Warn("a file was not kept", "err", err)
		return &respond.Refusal{Status: http.StatusServiceUnavailable, Sentence: "The file did not arrive completely, or could not be stored. Try again."}
	}
	respond.JSON(w, http.StatusCreated, Uploaded{ref, size})
	return nil
}

// checkFiles refuses a message with more files than fit, or with any where none are kept.
func (s *server) checkFiles(files []SentFile) error {
	if len(files) > 0 && s.Uploads == nil {
		return errNoUploads
	}
	if len(files) > channels.MaxAttachments {
		return refuse("files", "at most %d files fit into one message", channels.MaxAttachments)
	}
	for _, f := range files {
		if f.Ref == "" {
			return refuse("files", "each file has the ref that POST /files answered")
		}
	}
	return nil
}

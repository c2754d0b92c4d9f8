package media

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"dragoman/channels"
)

const (
	// uploadDir holds uploads until the turn of their message begins. It is not a key's
	// folder, because the name of each of those has a "_".
	uploadDir = "uploads"
	// uploadMark begins the Ref of an upload. The rest cannot be guessed, so that only
	// the sender can name the file.
	uploadMark = "upload:"
)

// Put keeps an upload, a file that was sent to us and not to a network. ref is a Ref for
// [channels.Attachment]. Errors: *channels.Gone if the file is refused.
func (s *Store) Put(ctx context.Context, r io.Reader) (ref string, size int64, err error) {
	name := strings.ToLower(rand.Text())
	s.countUsed()
	size, err = s.fetch(ctx, uploadDir+"/"+name, func(_ context.Context, w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
	if err != nil {
		return "", 0, fmt.Errorf("media: keep a file: %w", err)
	}
	return uploadMark + name, size, nil
}

// Sent opens attachment i of m, an upload, before and after its turn has begun.
func (s *Store) Sent(m channels.Inbound, i int) (io.ReadCloser, int64, error) {
	f, size, err := s.files.open(Name(m, i))
	if errors.Is(err, fs.ErrNotExist) && isUpload(m.Attachments[i].Ref) {
		f, size, err = s.files.open(uploadFile(m.Attachments[i].Ref))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("media: open what was sent: %w", withoutPath(err))
	}
	return f, size, nil
}

func isUpload(ref string) bool {
	name, found := strings.CutPrefix(ref, uploadMark)
	return found && len(name) >= 26 && alphanumeric(name)
}

func uploadFile(ref string) string { return uploadDir + "/" + strings.TrimPrefix(ref, uploadMark) }

func (s *Store) claimUpload(a channels.Attachment, ref, file string) channels.Attachment {
	err := s.files.rename(uploadFile(ref), file)
	size, looked := s.size(file)
	switch {
	case err == nil && looked == nil:
		a.File, a.Bytes = file, size
	case errors.Is(err, fs.ErrNotExist):
		a.Missing = "it is no longer here"
	default:
		a.Missing, _ = why(storing(errors.Join(err, looked)))
		s.o.Logger.Warn("an attachment is not available", "why", a.Missing, "err", withoutPath(errors.Join(err, looked)))
	}
	return a
}

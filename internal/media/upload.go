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
	// uploadDir holds what people sent to us ourselves, not to a network, until
	// the turn of the message that names it begins. No key's folder can be
	// called so.
	uploadDir = "uploads"
	// uploadMark begins the Ref of such a file. What follows cannot be guessed,
	// so that only who sent it can name it.
	uploadMark = "upload:"
)

// Put keeps a file that no network has, under a Ref for [channels.Attachment].
// A *channels.Gone says why it will never be kept.
func (s *Store) Put(ctx context.Context, r io.Reader) (ref string, size int64, err error) {
	name := strings.ToLower(rand.Text())
	s.count()
	size, err = s.fetch(ctx, uploadDir+"/"+name, func(_ context.Context, w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
	if err != nil {
		return "", 0, fmt.Errorf("media: keep a file: %w", err)
	}
	return uploadMark + name, size, nil
}

// Sent opens attachment i of m, which was put here: as it was, or where its
// turn has kept it.
func (s *Store) Sent(m channels.Inbound, i int) (io.ReadCloser, int64, error) {
	f, size, err := s.shelf.open(Name(m, i))
	if errors.Is(err, fs.ErrNotExist) && uploaded(m.Attachments[i].Ref) {
		f, size, err = s.shelf.open(uploadFile(m.Attachments[i].Ref))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("media: open what was sent: %w", bare(err))
	}
	return f, size, nil
}

// uploaded reports whether ref is one of Put's.
func uploaded(ref string) bool {
	name, found := strings.CutPrefix(ref, uploadMark)
	return found && len(name) >= 26 && plain(name)
}

func uploadFile(ref string) string { return uploadDir + "/" + strings.TrimPrefix(ref, uploadMark) }

// adopt gives a file that was put here its place in a conversation.
func (s *Store) adopt(a channels.Attachment, ref, file string) channels.Attachment {
	err := s.shelf.rename(uploadFile(ref), file)
	size, looked := s.size(file)
	switch {
	case err == nil && looked == nil:
		a.File, a.Bytes = file, size
	case errors.Is(err, fs.ErrNotExist):
		a.Missing = "it is no longer here"
	default:
		a.Missing, _ = why(storing(errors.Join(err, looked)))
		s.o.Logger.Warn("an attachment is not available", "why", a.Missing, "err", bare(errors.Join(err, looked)))
	}
	return a
}

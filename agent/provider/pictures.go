package provider

import (
	"bytes"
	"errors"
	"image"
	_ "image/gif"  // a form of pictures
	_ "image/jpeg" // another
	_ "image/png"  // and another
	"io"
	"net/http"
	"path"

	"dragoman/agent/wire"
	"dragoman/sessions"
)

// Files opens the files of messages by the name that they have there.
type Files interface {
	Open(file string) (io.ReadCloser, error)
}

const (
	// mostImages is how many pictures a request shows, the newest.
	mostImages = 10
	// imageStep is how many older ones leave at a time: the beginning of the
	// request, which servers remember, then changes with every fifth picture
	// beyond the first ten and not with each.
	imageStep = 5
	// defaultImageBytes bounds a picture.
	defaultImageBytes = 5 << 20
)

// forms are those of pictures that servers take, as sniffed.
var forms = map[string]bool{"image/jpeg": true, "image/png": true, "image/gif": true, "image/webp": true}

// firstImage is the number, counting from 0, of the first picture that is
// shown when there are so many and at most so many, which is not 0, may be.
func firstImage(images, most int) int {
	if images <= most {
		return 0
	}
	step := min(imageStep, most)
	return (images - most + step - 1) / step * step
}

// picturesOf are the files of the pictures of a person's message.
func picturesOf(m *sessions.Message) (files []string) {
	if m.Role != sessions.RoleUser {
		return nil
	}
	for _, a := range m.Attachments {
		if a.File != "" && a.IsImage() {
			files = append(files, a.File)
		}
	}
	return files
}

// shower hands out the pictures of a request, at most most, the newest, and
// counts those that it handed out.
type shower struct {
	m      *Model
	hidden map[*sessions.Message]int // pictures of a message that are not shown
	shown  int
}

// show is a shower for msgs.
func (m *Model) show(msgs []sessions.Message, most int) *shower {
	s, left := &shower{m: m, hidden: make(map[*sessions.Message]int)}, 0
	for i := range msgs {
		left += len(picturesOf(&msgs[i]))
	}
	if most > 0 && m.o.Files != nil {
		left = firstImage(left, most)
	}
	for i := range msgs {
		if left == 0 {
			break
		}
		n := min(left, len(picturesOf(&msgs[i])))
		s.hidden[&msgs[i]], left = n, left-n
	}
	return s
}

// of returns the pictures of a message that the model is shown.
func (s *shower) of(m *sessions.Message) []wire.Picture {
	var out []wire.Picture
	for _, file := range picturesOf(m)[s.hidden[m]:] {
		p, err := s.m.picture(file)
		if err != nil {
			s.m.o.Logger.Debug("a picture is not shown to the model", "file", path.Base(file), "err", err)
			continue
		}
		out = append(out, p)
	}
	s.shown += len(out)
	return out
}

var (
	errImageSize = errors.New("provider: the picture is larger than allowed")
	errImageForm = errors.New("provider: the picture is of a form that models are not shown")
)

// picture reads a picture. What it is shows in its content, not in what a
// stranger's program said.
func (m *Model) picture(file string) (wire.Picture, error) {
	f, err := m.o.Files.Open(file)
	if err != nil {
		return wire.Picture{}, err
	}
	b, err := io.ReadAll(io.LimitReader(f, m.o.MaxImageBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return wire.Picture{}, err
	}
	kind := http.DetectContentType(b)
	switch {
	case int64(len(b)) > m.o.MaxImageBytes:
		return wire.Picture{}, errImageSize
	case !forms[kind] || kind != "image/webp" && !decodable(b):
		return wire.Picture{}, errImageForm
	}
	return wire.Picture{MediaType: kind, Data: b}, nil
}

// decodable reports whether the beginning of a picture makes sense. A server
// that cannot read one picture refuses the whole request, and every later one
// with that picture in it.
func decodable(b []byte) bool {
	c, _, err := image.DecodeConfig(bytes.NewReader(b))
	return err == nil && c.Width > 0 && c.Height > 0
}

package provider

import (
	"bytes"
	"errors"
	"image"
	_ "image/gif"  // decodes GIF
	_ "image/jpeg" // decodes JPEG
	_ "image/png"  // decodes PNG
	"io"
	"net/http"
	"path"
	"slices"

	"dragoman/agent/wire"
	"dragoman/sessions"
)

// Files opens attachments by the file name in their message.
type Files interface {
	Open(file string) (io.ReadCloser, error)
}

const (
	// maxImages is the most pictures in a request, the newest.
	maxImages = 10
	// imageStep is how many older pictures are removed at a time. The cached
	// beginning of the prompt then changes only with every fifth picture beyond
	// the first ten.
	imageStep = 5
	// defaultImageBytes is the default of Options.MaxImageBytes.
	defaultImageBytes = 5 << 20
)

// imageTypes are the types that servers accept, as http.DetectContentType names
// them.
var imageTypes = map[string]bool{"image/jpeg": true, "image/png": true, "image/gif": true, "image/webp": true}

// firstImage returns the index of the first picture to show, out of images, if
// at most most, which is not 0, may be shown.
func firstImage(images, most int) int {
	if images <= most {
		return 0
	}
	step := min(imageStep, most)
	return (images - most + step - 1) / step * step
}

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

// pictureReader returns the newest pictures of a request and counts them.
type pictureReader struct {
	m      *Model
	isOut  func(file string) bool
	hidden map[*sessions.Message]int // how many pictures of a message are not shown
	shown  []shownPicture
}

// newPictureReader returns a reader for at most most pictures of msgs, without those
// that are out.
func (m *Model) newPictureReader(msgs []sessions.Message, most int, isOut func(file string) bool) *pictureReader {
	s := &pictureReader{m: m, isOut: isOut, hidden: make(map[*sessions.Message]int)}
	left := 0
	for i := range msgs {
		left += len(s.picturesOf(&msgs[i]))
	}
	if most > 0 && m.o.Files != nil {
		left = firstImage(left, most)
	}
	for i := range msgs {
		if left == 0 {
			break
		}
		n := min(left, len(s.picturesOf(&msgs[i])))
		s.hidden[&msgs[i]], left = n, left-n
	}
	return s
}

func (s *pictureReader) read(m *sessions.Message) []wire.Picture {
	var out []wire.Picture
	for _, file := range s.picturesOf(m)[s.hidden[m]:] {
		p, side, err := s.m.readPicture(file)
		if err != nil {
			s.m.o.Logger.Debug("a picture is not shown to the model", "file", path.Base(file), "err", err)
			continue
		}
		out = append(out, p)
		s.shown = append(s.shown, shownPicture{file: file, bytes: len(p.Data), side: side})
	}
	return out
}

func (s *pictureReader) picturesOf(m *sessions.Message) []string {
	return slices.DeleteFunc(picturesOf(m), s.isOut)
}

// readPicture reads a picture and returns its longer side in pixels, 0 if it is not
// known. Its type is detected from the content, because the sender's claim may be
// wrong.
func (m *Model) readPicture(file string) (p wire.Picture, side int, err error) {
	f, err := m.o.Files.Open(file)
	if err != nil {
		return wire.Picture{}, 0, err
	}
	b, err := io.ReadAll(io.LimitReader(f, m.o.MaxImageBytes+1))
	err = errors.Join(err, f.Close())
	if err != nil {
		return wire.Picture{}, 0, err
	}
	kind := http.DetectContentType(b)
	side = longerSide(b)
	switch {
	case int64(len(b)) > m.o.MaxImageBytes:
		return wire.Picture{}, 0, errors.New("provider: the picture is larger than allowed")
	case !imageTypes[kind] || kind != "image/webp" && side == 0:
		return wire.Picture{}, 0, errors.New("provider: the picture has a type that models are not shown")
	}
	return wire.Picture{MediaType: kind, Data: b}, side, nil
}

// longerSide returns the longer side of a picture in pixels, or 0 if its header is not
// valid: a server that cannot decode one picture refuses the whole request.
func longerSide(b []byte) int {
	c, _, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil || c.Width <= 0 || c.Height <= 0 {
		return 0
	}
	return max(c.Width, c.Height)
}

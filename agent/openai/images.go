package openai

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	_ "image/gif"  // a form of pictures
	_ "image/jpeg" // another
	_ "image/png"  // and another
	"io"
	"net/http"
	"path"

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

// part is a piece of a message's content.
type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// pictures counts the pictures in msgs that could be shown.
func pictures(msgs []sessions.Message) (n int) {
	for i := range msgs {
		n += len(picturesOf(&msgs[i]))
	}
	return n
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

// see is content with the pictures of files behind it: a list of parts, or
// content itself where none of them can be shown. The line that names each
// picture stands in content already.
func (m *Model) see(content string, files []string) any {
	parts := []part{{Type: "text", Text: content}}
	for _, file := range files {
		url, err := m.dataURL(file)
		if err != nil {
			m.o.Logger.Debug("a picture is not shown to the model", "file", path.Base(file), "err", err)
			continue
		}
		parts = append(parts, part{Type: "image_url", ImageURL: &imageURL{url}})
	}
	if len(parts) == 1 {
		return content
	}
	return parts
}

var (
	errImageSize = errors.New("openai: the picture is larger than allowed")
	errImageForm = errors.New("openai: the picture is of a form that models are not shown")
)

// dataURL reads a picture. What it is shows in its content, not in what a
// stranger's program said.
func (m *Model) dataURL(file string) (string, error) {
	f, err := m.o.Files.Open(file)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, m.o.MaxImageBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	kind := http.DetectContentType(b)
	switch {
	case int64(len(b)) > m.o.MaxImageBytes:
		return "", errImageSize
	case !forms[kind] || kind != "image/webp" && !decodable(b):
		return "", errImageForm
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b), nil
}

// decodable reports whether the beginning of a picture makes sense. A server
// that cannot read one picture refuses the whole request, and every later one
// with that picture in it.
func decodable(b []byte) bool {
	c, _, err := image.DecodeConfig(bytes.NewReader(b))
	return err == nil && c.Width > 0 && c.Height > 0
}

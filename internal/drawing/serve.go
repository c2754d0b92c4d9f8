package drawing

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strings"
)

const (
	// MostBytes is how large a picture is at most: Telegram shows no larger ones.
	MostBytes = 10 << 20

	// takenBytes is how large it may be as it comes, and answerBytes has room for that in
	// base64.
	takenBytes  = 16 << 20
	answerBytes = takenBytes/3*4 + 64<<10
)

// Flaw says what is wrong with an answer, in words that follow the server's name.
type Flaw string

func (f Flaw) Error() string { return string(f) }

const (
	// mostPixels is how many a picture may have: 4096 times 4096.
	mostPixels = 1 << 24
	// quality is that of JPEGs that are written.
	quality = 92

	// addressMark begins what [Serve] writes of an answer that has only an address, and
	// maxAddress is how many bytes both may have together.
	addressMark = "address "
	maxAddress  = 4 << 10
)

const (
	tooLarge = Flaw("gave more than 16 MB, and that is not opened; set a smaller drawing.size")
	noAnswer = Flaw("gave an answer that is none, as if it made no pictures; see drawing.url")
	damaged  = Flaw("gave a picture that is damaged")
)

// Serve is a work of internal/sandbox: it reads an answer of /images/generations, or the
// picture itself, and writes the picture anew. Of an answer that has only an address it
// writes that, after a mark. Its error is a sentence that follows the server's name.
func Serve(in io.Reader, out io.Writer) error {
	data, err := io.ReadAll(io.LimitReader(in, answerBytes+1))
	if err != nil {
		return fmt.Errorf("gave what cannot be read just now (%w)", err)
	}
	if len(data) > answerBytes {
		return tooLarge
	}
	data = bytes.TrimLeft(data, " \r\n\t\ufeff")
	if bytes.HasPrefix(data, []byte("{")) {
		var address string
		data, address, err = unpack(data)
		if err == nil && address != "" {
			_, err = io.WriteString(out, addressMark+address)
			return err
		}
	}
	if err != nil {
		return err
	}
	anew, err := rewrite(data)
	if err != nil {
		return err
	}
	_, err = out.Write(anew)
	return err
}

// unpack returns the picture of an answer, or its address.
func unpack(answer []byte) (picture []byte, address string, err error) {
	var a struct {
		Data []struct {
			Base64 string `json:"b64_json"`
			URL    string `json:"url"`
		} `json:"data"`
	}
	if json.Unmarshal(answer, &a) != nil || len(a.Data) == 0 {
		return nil, "", noAnswer
	}
	text := a.Data[0].Base64
	if text == "" {
		text = a.Data[0].URL
		if !strings.HasPrefix(text, "data:") {
			if text == "" || len(addressMark)+len(text) >= maxAddress {
				return nil, "", noAnswer
			}
			return nil, text, nil
		}
	}
	if rest, isURL := strings.CutPrefix(text, "data:"); isURL {
		_, text, _ = strings.Cut(rest, ",")
	}
	text = strings.TrimRight(text, "=\r\n ")
	picture, err = base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, "", damaged
	}
	return picture, "", nil
}

const pngName = "a PNG"

// kind is a kind of file.
type kind struct {
	begins, name string
	opens        bool
}

// kinds are what servers give, by first bytes. Anything else is no picture: a page, a text.
var kinds = []kind{
	{"\x89PNG\r\n\x1a\n", pngName, true},
	{"\xff\xd8\xff", "a JPEG", true},
	{"GIF8", "a GIF", false},
	{"RIFF", "a WebP", false},
	{"BM", "a BMP", false},
	{"II*\x00", "a TIFF", false},
	{"MM\x00*", "a TIFF", false},
	{"<svg", "an SVG", false},
	{"<?xml", "an SVG", false},
	{"\x00\x00\x00", "an AVIF or a film", false},
}

// rewrite decodes a picture, whose measures are looked at first, and encodes its pixels:
// nothing else of it is left. A PNG stays one, unless that is too large.
func rewrite(data []byte) ([]byte, error) {
	if len(data) > takenBytes {
		return nil, tooLarge
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return bytes.HasPrefix(data, []byte(k.begins)) })
	switch {
	case i < 0:
		return nil, noAnswer
	case !kinds[i].opens:
		return nil, Flaw("gave " + kinds[i].name + " where a PNG or a JPEG was expected; let it make one of these")
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil || c.Width <= 0 || c.Height <= 0:
		return nil, damaged
	case int64(c.Width)*int64(c.Height) > mostPixels:
		return nil, Flaw(fmt.Sprintf("gave a picture of %d×%d pixels, and none of more than %d million is opened; set a smaller drawing.size", c.Width, c.Height, mostPixels/1000000))
	}
	picture, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, damaged
	}
	var b bytes.Buffer
	if kinds[i].name == pngName {
		err = png.Encode(&b, picture)
		if err == nil && b.Len() <= MostBytes {
			return b.Bytes(), nil
		}
		picture = opaque(picture)
		b.Reset()
	}
	err = jpeg.Encode(&b, picture, &jpeg.Options{Quality: quality})
	if err != nil {
		return nil, damaged
	}
	if b.Len() > MostBytes {
		return nil, tooLarge
	}
	return b.Bytes(), nil
}

// opaque is a picture on white, as JPEG has no transparency.
func opaque(picture image.Image) image.Image {
	on := image.NewRGBA(picture.Bounds())
	draw.Draw(on, on.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(on, on.Bounds(), picture, picture.Bounds().Min, draw.Over)
	return on
}

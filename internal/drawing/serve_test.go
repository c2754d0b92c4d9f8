package drawing_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"dragoman/internal/drawing"
	"dragoman/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// picture is one of that many pixels, with a point whose colour tells that it is the same.
func picture(width, height int) image.Image {
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	p.Set(1, 2, color.NRGBA{200, 30, 40, 255})
	return p
}

func asPNG(t testing.TB, p image.Image) string {
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func asJPEG(t testing.TB, p image.Image) string {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, p, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// answer is what a server gives for a picture.
func answer(content string) string {
	return `{"created":1,"data":[{"b64_json":"` + base64.StdEncoding.EncodeToString([]byte(content)) + `","revised_prompt":"a secret"}]}`
}

// serve is what the work writes of an answer.
func serve(t testing.TB, in string) ([]byte, error) {
	t.Helper()
	var b bytes.Buffer
	err := drawing.Serve(strings.NewReader(in), &b)
	return b.Bytes(), err
}

// Nothing but pixels is left of a picture: no text, no place, no bytes after its end.
func TestNothingIsHidden(t *testing.T) {
	plain := asPNG(t, picture(40, 40))
	text := "\x00\x00\x00\x0etEXtplace\x00secret  \x00\x00\x00\x00" // its checksum is set below
	text = text[:len(text)-4] + checksum(text[4:len(text)-4])
	jpg := asJPEG(t, picture(40, 40))
	exif := "\xff\xe1\x00\x10Exif\x00\x00secret  "
	for name, in := range map[string]string{
		"PNG":       plain[:33] + text + plain[33:] + "secret after its end",
		"JPEG":      jpg[:2] + exif + jpg[2:] + "secret after its end",
		"an answer": " \n" + answer(plain[:33]+text+plain[33:]),
	} {
		out, err := serve(t, in)
		if err != nil || len(out) == 0 || bytes.Contains(out, []byte("secret")) || bytes.Contains(out, []byte("Exif")) {
			t.Errorf("%s: %v, and %d bytes have what was hidden", name, err, len(out))
		}
	}
}

// A PNG of 12 MB is sent as a JPEG, on white where it has no colour.
func TestLargePNG(t *testing.T) {
	testkit.OneGoroutine(t)
	noise := image.NewNRGBA(image.Rect(0, 0, 2000, 1800))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(r.Uint32())
	}
	for y := range 64 {
		for x := range 64 {
			noise.SetNRGBA(x, y, color.NRGBA{})
		}
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&b, noise); err != nil {
		t.Fatal(err)
	}
	in := b.String()
	out, err := serve(t, in)
	if err != nil || len(in) < 12<<20 || len(out) > drawing.MostBytes {
		t.Fatalf("%d bytes became %d, %v", len(in), len(out), err)
	}
	drawn, err := jpeg.Decode(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if r, g, b, _ := drawn.At(30, 30).RGBA(); drawn.Bounds() != noise.Bounds() || min(r, g, b) < 0xf000 {
		t.Errorf("a picture of %v, where nothing was it is %x %x %x", drawn.Bounds(), r, g, b)
	}
}

// checksum is that of a part of a PNG.
func checksum(part string) string {
	return string(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(part))))
}

// Whatever a server gives, the work writes a picture, an address or an error of ours.
func FuzzServe(f *testing.F) {
	small := asPNG(f, picture(3, 3))
	for _, seed := range []string{small, asJPEG(f, picture(3, 3)), answer(small), `{"data":[{"url":"https://a.example/b"}]}`, "<html>", "GIF89a", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, err := serve(t, in)
		switch {
		case err != nil:
			if len(out) > 0 || strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%d bytes beside the error %q", len(out), err)
			}
		case !bytes.HasPrefix(out, []byte("address ")):
			if _, _, err := image.Decode(bytes.NewReader(out)); err != nil || len(out) > drawing.MostBytes {
				t.Errorf("%d bytes that are no picture: %v", len(out), err)
			}
		}
	})
}

package story_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A picture that the model has drawn is below its answer, and large at a press.
func TestWalkDrawn(t *testing.T) {
	pageKit(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data":[{"b64_json":%q}]}`, base64.StdEncoding.EncodeToString(sunset(t)))
	}))
	t.Cleanup(server.Close)
	d := newHouse(t, plan{rest: "drawing: {url: " + server.URL + "/v1, model: sketch}"}).start()
	w := d.walker(chromium(t), d.linked())
	w.open("/talk/web:default")
	w.types("Write a message", `!tool make_picture {"prompt":"a cat in a boat"}`)
	w.press(kb.Enter)
	w.until("the picture", `document.querySelector(".shows img")?.naturalWidth === 512`)
	w.accessible("an answer with a picture")
	if !asks[bool](w, `document.querySelector(".shows").getBoundingClientRect().left === document.querySelector(".answer").getBoundingClientRect().left`) {
		t.Error("the picture is not where the answer begins")
	}
	w.picture("drawn")
	w.do(chromedp.EmulateViewport(360, 800, chromedp.EmulateMobile, chromedp.EmulateTouch))
	w.fits("a picture at 360")
	w.picture("drawn-360")
}

// sunset is a picture of some colours.
func sunset(t *testing.T) []byte {
	sky := image.NewRGBA(image.Rect(0, 0, 512, 512))
	for y := range 512 {
		for x := range 512 {
			shade := color.RGBA{uint8(255 - y/4), uint8(200 - y/3), uint8(90 + y/5), 255}
			if dx, dy := x-256, y-300; dx*dx+dy*dy < 70*70 {
				shade = color.RGBA{255, 220, 90, 255}
			}
			sky.SetRGBA(x, y, shade)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, sky); err != nil {
		t.Error(err)
	}
	return b.Bytes()
}

package story_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/channels/channeltest/botapi"
)

// painter is a server that draws by OpenAI's API. Each request waits until it is let go.
type painter struct {
	*httptest.Server
	asked chan string   // what it should draw
	draw  chan struct{} // it may
}

func newPainter(t *testing.T) *painter {
	t.Helper()
	p := &painter{asked: make(chan string, 100), draw: make(chan struct{}, 100)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/made.png" {
			_, _ = w.Write(sketch(t))
			return
		}
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		p.asked <- body.String()
		select {
		case <-p.draw:
			fmt.Fprintf(w, `{"data":[{"url":"%s/made.png"}]}`, p.URL)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// sketch is a picture.
func sketch(t *testing.T) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Error(err)
	}
	return b.Bytes()
}

// pictures are those that ann got.
func pictures(h *house) (all []botapi.Document) {
	for _, m := range h.api.Shown(ann.ID) {
		if m.Document != nil && m.Document.Sort == "photo" {
			all = append(all, *m.Document)
		}
	}
	return all
}

// Whoever asks for a picture gets one on Telegram, once: also if the daemon is killed while
// it is drawn, and while it is sent. Then it is not drawn again.
func TestPicturesAreDrawn(t *testing.T) {
	p := newPainter(t)
	h := newHouse(t, plan{rest: "drawing: {url: " + p.URL + "/v1, model: sketch, price: 0.04}"})
	kill := func(d *daemon) {
		if err := d.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-d.ended
		d.over = true
	}
	d := h.start()
	h.tell(ann, `!tool make_picture {"prompt":"a cat in a boat"}`)
	if got := <-p.asked; !strings.Contains(got, `"prompt":"a cat in a boat"`) {
		t.Errorf("the server is asked %s", got)
	}
	kill(d) // while it draws
	d = h.start()
	<-p.asked
	h.api.Break(botapi.Fault{Method: "sendPhoto", ChatID: ann.ID, DropBefore: true, Times: 1})
	p.draw <- struct{}{}
	h.until("the picture on its way", func() bool { return h.api.Count("sendPhoto") > 0 })
	kill(d) // before it has arrived
	h.start()
	h.until("the picture", func() bool { return len(pictures(h)) > 0 })
	if got, _, err := image.Decode(strings.NewReader(pictures(h)[0].Content)); err != nil || got.Bounds().Dx() != 40 {
		t.Errorf("the picture is another one: %v", err)
	}
	h.tell(ann, "thanks")
	h.until("an answer to that", func() bool { return strings.Contains(strings.Join(h.api.FromBot(ann.ID), " "), "echo: thanks") })
	if n := len(pictures(h)); n != 1 || len(p.asked) != 0 {
		t.Errorf("%d pictures came, and %d more were drawn", n, len(p.asked))
	}
	if got := h.dragoman("usage", "--by", "model"); strings.Count(got, "0.0400") != 2 || !strings.Contains(got, "sketch") {
		t.Errorf("usage does not tell of the picture:\n%s", got)
	}
}

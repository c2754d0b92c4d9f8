package app_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/app"
	"dragoman/internal/config"
	"dragoman/internal/media"
)

// A call that runs again after a crash, and had kept its picture, gets that one: it is not
// drawn again, and counted once in each run, of which the crash has lost the first.
func TestAPictureIsDrawnOnce(t *testing.T) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprintf(w, `{"data":[{"b64_json":%q}]}`, base64.StdEncoding.EncodeToString(b.Bytes()))
	}))
	t.Cleanup(server.Close)
	files, err := media.Open(t.TempDir(), media.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := app.DrawerIn(files, config.Drawing{URL: server.URL + "/v1", Model: "sketch", Price: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	draw := func(key, call string) (channels.Attachment, agent.Payment, error) {
		var paid agent.Payment
		a, err := d.Draw(t.Context(), agent.Call{Key: channels.MustKey(key), Turn: "t", ID: call, Paid: &paid}, "a cat", "a-cat")
		return a, paid, err
	}
	first, _, err := draw("x:1", "c1")
	if err != nil || first.Name != "a-cat.jpg" || first.Type != "image/jpeg" || first.File == "" {
		t.Fatalf("the picture is %+v, %v", first, err)
	}
	again, paid, err := draw("x:1", "c1")
	if err != nil || again != first || asked != 1 || paid != (agent.Payment{Model: "sketch", Cost: 0.5}) {
		t.Errorf("again it is %+v, %v, drawn %d times, paid %+v", again, err, asked, paid)
	}
	if other, _, err := draw("x:1", "c2"); err != nil || other.File == first.File || asked != 2 {
		t.Errorf("another call gets %+v, %v, drawn %d times", other, err, asked)
	}
	if _, paid, err := draw("irc:1", "c1"); err == nil || !strings.Contains(err.Error(), "takes no files") || asked != 2 || paid.Cost != 0 {
		t.Errorf("where no files are sent: %v, drawn %d times, paid %+v", err, asked, paid)
	}
}

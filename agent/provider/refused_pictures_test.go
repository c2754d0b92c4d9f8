package provider_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/agent/provider"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// picture returns a PNG of this size.
func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height)))
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// gallery is a server of all APIs that refuses some pictures, and a model that may show
// them.
type gallery struct {
	files  shelf
	bodies [][]byte
	m      *provider.Model
}

// wholeAnswers are answers of servers that do not stream, by the end of their path.
var wholeAnswers = map[string]string{
	"/completions": `{"choices":[{"index":0,"message":{"role":"assistant","content":"I see."},"finish_reason":"stop"}]}`,
	"/messages":    `{"type":"message","role":"assistant","content":[{"type":"text","text":"I see."}],"stop_reason":"end_turn"}`,
	"/responses":   `{"object":"response","status":"completed","output":[{"type":"message","id":"m","content":[{"type":"output_text","text":"I see."}]}]}`,
}

func newGallery(t *testing.T, api string, status int, says string, bad ...string) *gallery {
	g := &gallery{files: shelf{
		"small": picture(t, 100, 100), "tall": picture(t, 30, 900), "wide": picture(t, 400, 40), "good": picture(t, 200, 200),
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		g.bodies = append(g.bodies, body)
		for _, name := range bad {
			if g.has(body, name) {
				w.WriteHeader(status)
				_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, says)
				return
			}
		}
		_, _ = io.WriteString(w, wholeAnswers[r.URL.Path[strings.LastIndex(r.URL.Path, "/"):]])
	}))
	t.Cleanup(s.Close)
	g.m = model(t, s.URL+"/v1", func(o *provider.Options) { o.Files, o.API = g.files, api })
	return g
}

func (g *gallery) has(body []byte, name string) bool {
	return bytes.Contains(body, []byte(base64.StdEncoding.EncodeToString(g.files[name])))
}

// shows returns the pictures of each request.
func (g *gallery) shows() string {
	var all []string
	for _, body := range g.bodies {
		var shown []string
		for _, name := range []string{"small", "tall", "wide", "good"} {
			if g.has(body, name) {
				shown = append(shown, name)
			}
		}
		all = append(all, "["+strings.Join(shown, " ")+"]")
	}
	return strings.Join(all, " ")
}

// TestOneRefusedPicture: a server that refuses one picture gets the others, from then on
// with one request a turn, and the model is told which message's picture it does not see.
func TestOneRefusedPicture(t *testing.T) {
	for name, test := range map[string]struct {
		api    string
		status int
		says   string
		bad    []string
		// What was shown when the pictures came one by one, and all at once after a
		// restart.
		oneByOne, atOnce string
	}{
		"too tall, at the wrong place": {
			wire.APIMessages, 400, "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
			[]string{"tall"},
			"[small] [small tall] [small] [small] [small good]", "[small tall good] [small good]",
		},
		"at its place, of several": {
			wire.APIMessages, 400, "messages.0.content.1.image.source.base64.data: Could not process image",
			[]string{"tall"},
			"", "[small tall good] [small good]",
		},
		"at its place, of several turns": {
			wire.APIMessages, 400, "messages.2.content.0.image.source.base64.data: Could not process image",
			[]string{"tall"},
			"[small] [small tall] [small] [small] [small good]", "",
		},
		"damaged, without a place": {
			wire.APIChat, 400, "You uploaded an unsupported image. Please make sure your image is valid.",
			[]string{"tall"},
			"[small] [small tall] [small] [small] [small good]", "[small tall good] [small tall] [small]",
		},
		"too many pixels": {
			wire.APIChat, 400, "image resolution too high",
			[]string{"tall"},
			"[small] [small tall] [small] [small] [small good]", "[small tall good] [small good]",
		},
		"on the responses API": {
			wire.APIResponses, 400, "Invalid 'input[2].content[1].image_url': the image could not be decoded",
			[]string{"tall"},
			"[small] [small tall] [small] [small] [small good]", "",
		},
		"the body is too large": {
			wire.APIChat, 413, "Request Entity Too Large",
			[]string{"tall"},
			"", "[small tall good] [good]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var history []sessions.Message
			turn := func(g *gallery, m sessions.Message) {
				t.Helper()
				history = append(history, m)
				resp, _, _, err := complete(t, g.m, agent.Request{Messages: history})
				if err != nil {
					t.Fatalf("Complete = %v after %s", err, g.shows())
				}
				history = append(history, resp.Message)
			}
			if test.oneByOne != "" {
				history = nil
				g := newGallery(t, test.api, test.status, test.says, test.bad...)
				turn(g, said("one", "small"))
				turn(g, said("two", "tall"))
				turn(g, said("three"))
				turn(g, said("four", "good"))
				if got := g.shows(); got != test.oneByOne {
					t.Errorf("one by one the requests show %s, want %s", got, test.oneByOne)
				}
				if n := bytes.Count(g.bodies[len(g.bodies)-1], []byte("cannot be shown here")); n != 1 {
					t.Errorf("the model is told %d times that it does not see a picture, want once", n)
				}
			}
			if test.atOnce != "" {
				history = nil
				g := newGallery(t, test.api, test.status, test.says, test.bad...)
				turn(g, said("look", "small", "tall", "good"))
				if got := g.shows(); got != test.atOnce {
					t.Errorf("at once the requests show %s, want %s", got, test.atOnce)
				}
			}
		})
	}
}

// Several bad pictures are found one after the other; a server that refuses all is
// answered without any.
func TestSeveralRefusedPictures(t *testing.T) {
	g := newGallery(t, wire.APIChat, 400, "invalid image", "tall", "wide")
	if _, err := answered(t, g.m, said("look", "small", "tall", "wide")); err != nil {
		t.Fatal(err)
	}
	if got, want := g.shows(), "[small tall wide] [small tall] [small]"; got != want {
		t.Errorf("the requests show %s, want %s", got, want)
	}
	g = newGallery(t, wire.APIChat, 400, "invalid image", "small", "tall", "wide", "good")
	if _, err := answered(t, g.m, said("look", "small", "tall", "wide", "good")); err != nil {
		t.Fatal(err)
	}
	if got, want := g.shows(), "[small tall wide good] [small tall wide] [small tall] [small] []"; got != want {
		t.Errorf("the requests show %s, want %s", got, want)
	}
}

// What was learned from a refusal counts for a day: the server may be another by then.
func TestLessonsEnd(t *testing.T) {
	all := []string{"tools=no", "temperature=no", "usage=no", "response_format=no", "max_tokens=max_completion_tokens", "efforts=low medium", "tools_need=none", "pictures=0"}
	for _, what := range all {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := time.Now()
				other := "tools=no"
				if what == other {
					other = "usage=no"
				}
				m := model(t, "http://127.0.0.1:1/v1", func(o *provider.Options) {
					o.API = wire.APIChat
					o.Learned = []provider.Learned{
						{Name: "fake", What: what, At: now.Add(-23 * time.Hour)},
						{Name: "fake", What: "streams=no", At: now.Add(-25 * time.Hour)},
						{Name: "fake", What: other, At: now.Add(-time.Hour)},
					}
				})
				knows := func() string { return strings.Join(slices.Sorted(slices.Values(whats(m.Learned()))), " ") }
				want := strings.Join(slices.Sorted(slices.Values([]string{what, other})), " ")
				if got := knows(); got != want {
					t.Errorf("at the start it knows %q, want %q", got, want)
				}
				if what == "tools=no" && !m.Abilities().NoTools {
					t.Error("before a day is over the model takes tools")
				}
				time.Sleep(2 * time.Hour)
				if m.Abilities().NoTools != (other == "tools=no") {
					t.Errorf("after a day the model takes tools: %t", !m.Abilities().NoTools)
				}
				if got := knows(); got != other {
					t.Errorf("after a day it knows %q, want %q", got, other)
				}
			})
		})
	}
}

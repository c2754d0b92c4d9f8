package story_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/channels/channeltest/botapi"
)

// spokenWords is a voice message of a second.
const spokenWords = "OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x13OpusHead\x01\x01\x00\x00\x80\xbb\x00\x00\x00\x00\x00" +
	"OggS\x00\x04\x80\xbb\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x01x"

// services is one server of all that Dragoman asks beside the model. What it refuses is the
// path's end; "" is nothing.
func services(t *testing.T, refuses *atomic.Value) *httptest.Server {
	answers := map[string]string{
		"/search": `{"results":[]}`, "/v1/audio/transcriptions": `{"text":"good morning"}`, "/v1/audio/speech": spokenWords,
		"/v1/images/generations": `{"data":[{"b64_json":"` + base64.StdEncoding.EncodeToString(sketch(t)) + `"}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(refuses.Load().(string), r.URL.Path) {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, answers[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	return server
}

// A service that refuses is failing in "dragoman status" and on the page, with the time and
// the cause, until it works. Nobody has to read the log for that.
func TestServicesThatFail(t *testing.T) {
	var refuses atomic.Value
	refuses.Store("/search /v1/audio/transcriptions /v1/images/generations")
	url := services(t, &refuses).URL
	h := newHouse(t, plan{})
	h.configure(plan{rest: fmt.Sprintf("web_search: {engine: searxng, url: %s}\nhearing: {url: %s/v1}\nspeaking: {url: %s/v1}\ndrawing: {url: %s/v1, model: sketch}", url, url, url, url)})
	h.start()
	state := func(name string) string {
		status, _ := h.try("status")
		return regexp.MustCompile(`(?m)^` + name + ` .*$`).FindString(status)
	}
	ask := func() {
		h.answer(ann, `!tool web_search {"query":"search"}`)
		h.answer(ann, `!tool make_picture {"prompt":"a cat"}`)
		id := h.api.AddFile([]byte("OggS and so on"))
		h.api.Private(ann).Post(botapi.Post{From: ann, Extra: fields{"voice": fields{"file_id": id, "duration": 14, "mime_type": "audio/ogg"}}})
	}
	for _, name := range []string{"web_search", "hearing", "drawing", "speaking"} {
		if got := state(name); !strings.Contains(got, " on, ") {
			t.Errorf("before anything was asked %s is %q", name, got)
		}
	}
	for _, step := range []struct {
		refuses string
		failing map[string]string
	}{
		{"/search /v1/audio/transcriptions /v1/images/generations", map[string]string{
			"web_search": "the last question was not answered: the search service 127.0.0.1 answered with HTTP 503",
			"hearing":    "the last voice message was not written down: 127.0.0.1:",
			"drawing":    "the last picture was not drawn: the picture server 127.0.0.1:",
		}},
		{"/v1/audio/speech", map[string]string{"speaking": "the last answer was not spoken: 127.0.0.1:"}},
		{"", nil},
	} {
		refuses.Store(step.refuses)
		ask()
		for _, name := range []string{"web_search", "hearing", "drawing", "speaking"} {
			want := `^` + name + ` +on, `
			if why := step.failing[name]; why != "" {
				want = `^` + name + ` +failing since \d\d:\d\d: ` + regexp.QuoteMeta(why)
			}
			h.until(fmt.Sprintf("%s while it refuses %q", want, step.refuses), func() bool { return regexp.MustCompile(want).MatchString(state(name)) })
		}
	}
}

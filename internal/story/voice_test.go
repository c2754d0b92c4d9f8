package story_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/channels/channeltest/botapi"
)

// A voice message is heard by a server with OpenAI's API, and answered like text. While
// that server is away, the message is answered all the same.
func TestVoiceMessagesAreHeard(t *testing.T) {
	fails := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, head, err := r.FormFile("file")
		if err != nil || fails {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		recording, _ := io.ReadAll(file)
		fmt.Fprintf(w, `{"text":"%d bytes of %s"}`, len(recording), head.Filename)
	}))
	defer server.Close()
	h := newLibrary(t, seeing("hearing: {url: "+server.URL+"/v1}"))
	h.start()
	post := func() {
		id := h.api.AddFile([]byte("OggS and so on"))
		h.api.Private(ann).Post(botapi.Post{From: ann, Extra: fields{"voice": fields{"file_id": id, "duration": 14, "mime_type": "audio/ogg"}}})
	}
	post()
	if got := h.said(ann.ID, 1)[0]; !strings.Contains(got, "[voice, 0:14] 14 bytes of voice.ogg") {
		t.Errorf("to a voice message the bot says %q", got)
	}
	fails = true // no request is under way
	post()
	if got := h.said(ann.ID, 2)[1]; !strings.Contains(got, "[voice, audio/ogg") && !strings.Contains(got, "[voice \"") {
		t.Errorf("to one that nobody hears the bot says %q", got)
	}
}

package speaking_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/speaking"
)

// opus is a second and a bit of Ogg Opus, without sound.
const opus = "OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x13OpusHead\x01\x01\x00\x00\x80\xbb\x00\x00\x00\x00\x00" +
	"OggS\x00\x04\x00\xc8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x01x"

func TestSay(t *testing.T) {
	var asked map[string]string
	var path, auth string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, auth = r.URL.Path, r.Header.Get("Authorization")
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		io.WriteString(w, opus)
	}))
	t.Cleanup(s.Close)
	speaker, err := speaking.New(speaking.Options{URL: s.URL + "/v1/", Key: "k3y", Model: "tts-1", Voice: "alloy"})
	if err != nil {
		t.Fatal(err)
	}
	sound, seconds, err := speaker.Say(t.Context(), "Good morning.")
	if string(sound) != opus || seconds != 2 || err != nil {
		t.Errorf("Say = %d bytes, %d seconds, %v, want %d and 2", len(sound), seconds, err, len(opus))
	}
	if path != "/v1/audio/speech" || auth != "Bearer k3y" {
		t.Errorf("asked at %s with %q", path, auth)
	}
	want := map[string]string{"model": "tts-1", "voice": "alloy", "input": "Good morning.", "response_format": "opus"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("the question (-want +got):\n%s", diff)
	}
}

// What is no voice message is refused, with what helps; nothing that the server wrote and no
// key gets into the error.
func TestWhatIsNotSpoken(t *testing.T) {
	for _, tt := range []struct {
		status       int
		answer, want string
	}{
		{200, "ID3\x04\x00secret", "gave MP3; let it make response_format opus"},
		{200, "\xff\xfb\x90secret", "gave MP3"},
		{200, "RIFF....WAVEsecret", "gave WAV"},
		{200, strings.Replace(opus, "OpusHead", "\x01vorbis!", 1), "gave Ogg without Opus"},
		{200, `{"error":"secret"}`, "gave JSON"},
		{200, "", "gave something else"},
		{200, opus + strings.Repeat("x", speaking.MostSound), "is too long"},
		{401, "k3y secret", "refused the key (HTTP 401)"},
		{400, "secret", "refuses the model, the voice or the format opus"},
		{404, "secret", "has no /audio/speech"},
		{302, "", "answered with HTTP 302"},
		{500, "secret", "answered with HTTP 500"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.answer)
		}))
		speaker, err := speaking.New(speaking.Options{URL: s.URL, Key: "k3y"})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = speaker.Say(t.Context(), "secret")
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "k3y") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%d %.20q: the error is %v, want %q", tt.status, tt.answer, err, tt.want)
		}
		s.Close()
		_, _, err = speaker.Say(t.Context(), "x")
		if err == nil || !strings.Contains(err.Error(), "did not answer") {
			t.Errorf("without a server: the error is %v", err)
		}
	}
	if _, err := speaking.New(speaking.Options{URL: "nowhere"}); err == nil {
		t.Error("a server without an address is accepted")
	}
}

func TestSpoken(t *testing.T) {
	for text, want := range map[string]string{
		"**Good** morning, _Ann_!":         "Good morning, Ann!",
		"# Today\n\n- rain\n- then `sun`":  "Today. rain. then sun",
		"Run it:\n\n```sh\nls\n```":        "",
		"| a | b |\n|---|---|\n| 1 | 2 |":  "",
		"See https://example.org.":         "",
		"See [this](https://example.org).": "",
		"It is $$x^2$$.":                   "",
		"  ":                               "",
		strings.Repeat("ä", 1200):          strings.Repeat("ä", 1200),
		strings.Repeat("ä", 1201):          "",
	} {
		said, can := speaking.Spoken(text)
		if can != (want != "") || can && said != want {
			t.Errorf("Spoken(%.40q) = %q, %v, want %q", text, said, can, want)
		}
	}
}

package hearing_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/hearing"
)

// heard is what a server was sent.
type heard struct{ path, auth, name, media, recording, model, language string }

func server(t *testing.T, status int, answer string) (*hearing.Listener, *heard) {
	t.Helper()
	got := &heard{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, head, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		recording, _ := io.ReadAll(file)
		*got = heard{r.URL.Path, r.Header.Get("Authorization"), head.Filename, head.Header.Get("Content-Type"), string(recording), r.FormValue("model"), r.FormValue("language")}
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	l, err := hearing.New(hearing.Options{URL: s.URL + "/v1/", Key: "k3y", Model: "whisper-1", Language: "de"})
	if err != nil {
		t.Fatal(err)
	}
	return l, got
}

func TestWords(t *testing.T) {
	for media, name := range map[string]string{
		"audio/ogg; codecs=opus": "voice.ogg", "audio/ogg": "voice.ogg", "": "voice.ogg", "audio/mp4": "voice.m4a", "audio/webm;codecs=opus": "voice.webm", "audio/opus": "voice.ogg",
	} {
		l, got := server(t, 200, `{"text":" Guten Tag.\n","usage":{}}`)
		words, err := l.Words(t.Context(), strings.NewReader("OggS…"), media)
		if words != "Guten Tag." || err != nil {
			t.Errorf("%s: the words are %q, %v", media, words, err)
		}
		base, _, _ := strings.Cut(media, ";")
		if base == "" {
			base = "audio/ogg"
		}
		want := heard{"/v1/audio/transcriptions", "Bearer k3y", name, base, "OggS…", "whisper-1", "de"}
		if diff := cmp.Diff(want, *got, cmp.AllowUnexported(heard{})); diff != "" {
			t.Errorf("%s: request (-want +got):\n%s", media, diff)
		}
	}
}

func TestWhatIsNotHeard(t *testing.T) {
	for _, test := range []struct {
		status       int
		answer, want string
	}{
		{200, `{"text":"  "}`, "nothing was said"},
		{200, `{}`, "gave an answer that is none"},
		{200, `<html>`, "gave an answer that is none"},
		{400, `{"error":{"message":"Invalid file format. Supported formats: flac, mp3"}}`, "does not take audio/ogg (HTTP 400); start whisper-server with --convert"},
		{500, `{"error":"failed to decode audio"}`, "does not take audio/ogg"},
		{401, "your key k3y is wrong", "refused the key (HTTP 401)"},
		{404, "", "--inference-path"},
		{503, "secret words", "answered with HTTP 503"},
	} {
		l, _ := server(t, test.status, test.answer)
		_, err := l.Words(t.Context(), strings.NewReader("x"), "audio/ogg")
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "k3y") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%d %s: the error is %v, want %q", test.status, test.answer, err, test.want)
		}
	}
}

// zeros has no end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestLimits(t *testing.T) {
	l, got := server(t, 200, `{"text":"`+strings.Repeat("wörter ", 10_000)+`"}`)
	words, err := l.Words(t.Context(), strings.NewReader("x"), "")
	if err != nil || len(words) > hearing.MostWords+3 || !strings.HasSuffix(words, "…") {
		t.Errorf("%d bytes of words, %v", len(words), err)
	}
	*got = heard{}
	if _, err := l.Words(t.Context(), zeros{}, ""); err == nil || !strings.Contains(err.Error(), "too long") || *got != (heard{}) {
		t.Errorf("an endless recording: %v", err)
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := l.Words(ctx, strings.NewReader("x"), ""); !errors.Is(err, stopped) {
		t.Errorf("after the caller stopped: %v", err)
	}
	gone, err := hearing.New(hearing.Options{URL: "http://127.0.0.1:1/v1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gone.Words(t.Context(), strings.NewReader("x"), ""); err == nil || err.Error() != "hearing: 127.0.0.1:1 did not answer" {
		t.Errorf("nobody there: %v", err)
	}
}

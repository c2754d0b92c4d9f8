package drawing_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/drawing"
)

// painter asks a server. It opens answers in this process.
func painter(t *testing.T, o drawing.Options, serve http.HandlerFunc) (*drawing.Painter, *httptest.Server) {
	t.Helper()
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	o.URL = s.URL + "/v1/"
	o.Key = "k3y"
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	o.Open = func(_ context.Context, answer []byte) ([]byte, error) {
		var b bytes.Buffer
		err := drawing.Serve(bytes.NewReader(answer), &b)
		return b.Bytes(), err
	}
	if o.Fetch == nil {
		o.Fetch = func(context.Context, string, int64) ([]byte, error) { return nil, drawing.Flaw("is not public") }
	}
	p, err := drawing.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p, s
}

// The server is asked once, with what is configured, and the picture is the one that it gave.
func TestDraw(t *testing.T) {
	var asked map[string]any
	var path, auth string
	p, _ := painter(t, drawing.Options{Model: "gpt-image-1", Size: "512x512"}, func(w http.ResponseWriter, r *http.Request) {
		path, auth = r.URL.Path, r.Header.Get("Authorization")
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/html") // what is in it counts
		io.WriteString(w, answer(asPNG(t, picture(30, 20))))
	})
	got, err := p.Draw(t.Context(), "a boat")
	if err != nil || got.Type != "image/png" || !got.Paid {
		t.Fatalf("Draw = %d bytes of %s, %v", len(got.Content), got.Type, err)
	}
	if path != "/v1/images/generations" || auth != "Bearer k3y" {
		t.Errorf("asked at %s with %q", path, auth)
	}
	want := map[string]any{"model": "gpt-image-1", "prompt": "a boat", "n": 1.0, "size": "512x512"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("the question (-want +got):\n%s", diff)
	}
	drawn, err := png.Decode(bytes.NewReader(got.Content))
	if err != nil || drawn.Bounds() != image.Rect(0, 0, 30, 20) || drawn.At(1, 2) != (color.NRGBA{200, 30, 40, 255}) {
		t.Errorf("the picture is another one: %v", err)
	}
}

// Whatever a server does, the error is one sentence that names it and has neither the key nor
// a word of the server.
func TestWhatServersDo(t *testing.T) {
	big := strings.Repeat("x", 16<<20)
	bomb := asPNG(t, picture(1, 1))
	head := "IHDR\x00\x01\x00\x00\x00\x01\x00\x00" + bomb[24:29] // 65,536 pixels each way
	bomb = bomb[:12] + head + checksum(head) + bomb[33:]
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"rules", 400, `{"error":{"code":"content_policy_violation","message":"secret"}}`, "does not draw this, by its rules"},
		{"moderation", 400, `{"error":{"code":"moderation_blocked"}}`, "does not draw this, by its rules"},
		{"a size", 400, `{"error":{"message":"secret size"}}`, "refuses the model, the size or the prompt (HTTP 400)"},
		{"key", 401, `k3y secret`, "refused the key (HTTP 401)"},
		{"too many", 429, `secret`, "wants a pause of 20 seconds"},
		{"no credit", 429, `{"error":{"code":"insufficient_quota"}}`, "has no credit left"},
		{"not paid", 402, ``, "has no credit left"},
		{"elsewhere", 302, ``, "answered with HTTP 302"},
		{"no such path", 404, `secret`, "has no /images/generations"},
		{"broken", 500, `<html>secret</html>`, "answered with HTTP 500"},
		{"a page", 200, `<!DOCTYPE html><p>secret`, "gave an answer that is none"},
		{"nothing", 200, ``, "gave an answer that is none"},
		{"no picture", 200, `{"data":[]}`, "gave an answer that is none"},
		{"an empty one", 200, `{"data":[{}]}`, "gave an answer that is none"},
		{"not JSON", 200, `{"data":[{"b64_json":"secret`, "gave an answer that is none"},
		{"not base64", 200, `{"data":[{"b64_json":"sec?ret"}]}`, "gave a picture that is damaged"},
		{"a GIF", 200, answer("GIF89a secret"), "gave a GIF where a PNG or a JPEG was expected"},
		{"a WebP", 200, answer("RIFF\x00\x00\x00\x00WEBPVP8 secret"), "gave a WebP"},
		{"an SVG", 200, answer("<svg xmlns='http://www.w3.org/2000/svg'>secret"), "gave an SVG"},
		{"a bomb", 200, answer(bomb), "gave a picture of 65536×65536 pixels"},
		{"a cut one", 200, answer(asPNG(t, picture(300, 300))[:300]), "gave a picture that is damaged"},
		{"a cut header", 200, answer("\x89PNG\r\n\x1a\n"), "gave a picture that is damaged"},
		{"too large", 200, answer("\xff\xd8\xff" + big), "gave more than 16 MB"},
		{"larger still", 200, answer(big + big), "gave more than 16 MB"},
		{"a neighbour", 200, `{"data":[{"url":"http://169.254.169.254/secret"}]}`, "gave an address that is not read"},
		{"a file", 200, `{"data":[{"url":"file:///etc/secret"}]}`, "gave an address that is none"},
		{"not public", 200, `{"data":[{"url":"https://10.0.0.1/secret"}]}`, "is not public"},
		{"a name in it", 200, `{"data":[{"url":"https://a:secret@b.example/"}]}`, "gave an address that is none"},
		{"a long one", 200, `{"data":[{"url":"https://b.example/` + strings.Repeat("x", 5000) + `"}]}`, "gave an answer that is none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, s := painter(t, drawing.Options{Model: "m"}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "20")
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			got, err := p.Draw(t.Context(), "a boat")
			if err == nil {
				t.Fatalf("a picture of %d bytes, want %q", len(got.Content), tt.want)
			}
			said := err.Error()
			if !strings.HasPrefix(said, "the picture server "+strings.TrimPrefix(s.URL, "http://")+" ") || !strings.Contains(said, tt.want) {
				t.Errorf("the error is %q, want %q", said, tt.want)
			}
			if strings.Contains(said, "k3y") || strings.Contains(said, "secret") || strings.Contains(said, "\n") {
				t.Errorf("the error tells too much: %q", said)
			}
			if got.Paid != (tt.status == 200) || errors.Is(err, drawing.ErrRules) != strings.Contains(tt.want, "rules") {
				t.Errorf("paid: %v, rules: %v", got.Paid, errors.Is(err, drawing.ErrRules))
			}
		})
	}
}

// Servers that are slow, break off or are gone are told apart, and a caller who gives up is
// obeyed at once.
func TestServersThatEndBadly(t *testing.T) {
	slow := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or it does not learn that nobody waits
		<-r.Context().Done()
	}
	p, _ := painter(t, drawing.Options{Timeout: 50 * time.Millisecond}, slow)
	if _, err := p.Draw(t.Context(), "a boat"); err == nil || !strings.Contains(err.Error(), "took longer than 50ms") {
		t.Errorf("a slow server: %v", err)
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := p.Draw(ctx, "a boat"); !errors.Is(err, stopped) {
		t.Errorf("a caller who stops: %v", err)
	}
	half := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, `{"data":`)
	}
	p, _ = painter(t, drawing.Options{}, half)
	if _, err := p.Draw(t.Context(), "a boat"); err == nil || !strings.Contains(err.Error(), "broke off") {
		t.Errorf("a server that breaks off: %v", err)
	}
	gone, s := painter(t, drawing.Options{}, half)
	s.Close()
	if _, err := gone.Draw(t.Context(), "a boat"); err == nil || !strings.Contains(err.Error(), "did not answer") {
		t.Errorf("a server that is gone: %v", err)
	}
}

// An address of the server itself is read, without the key, and one on the internet under
// the rules for such. Neither leads on to another address.
func TestAddresses(t *testing.T) {
	var own string
	var fetched []string
	content := asPNG(t, picture(9, 9))
	serve := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/images/generations":
			fmt.Fprintf(w, `{"data":[{"url":%q}]}`, own)
		case "/made/1.png":
			if r.Header.Get("Authorization") != "" {
				t.Error("the key is sent with the address")
			}
			io.WriteString(w, content)
		case "/moved":
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		case "/again":
			io.WriteString(w, `{"data":[{"url":"https://a.example/b"}]}`)
		}
	}
	fetch := func(_ context.Context, address string, _ int64) ([]byte, error) {
		fetched = append(fetched, address)
		return []byte(content), nil
	}
	p, s := painter(t, drawing.Options{Fetch: fetch}, serve)
	for _, tt := range []struct{ address, want string }{
		{s.URL + "/made/1.png", ""},
		{"https://cdn.example/1.png?sig=1", ""},
		{"data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(content)), ""},
		{s.URL + "/moved", "has no picture (HTTP 302)"},
		{s.URL + "/again", "gave an address of an address"},
		{strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/made/1.png", "gave an address that is not read"},
	} {
		own = tt.address
		got, err := p.Draw(t.Context(), "a boat")
		if tt.want == "" && (err != nil || got.Type != "image/png") || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%.60s: %s, %v, want %q", tt.address, got.Type, err, tt.want)
		}
	}
	if len(fetched) != 1 || fetched[0] != "https://cdn.example/1.png?sig=1" {
		t.Errorf("fetched %q from the internet", fetched)
	}
}

package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/internal/web"
)

// A network that shows its secret comes in from anywhere, to an open port and to one
// with a token, and nobody else does. The secret opens that path alone.
func TestCalled(t *testing.T) {
	for name, configured := range map[string]string{"open port": "", "port with a token": token} {
		t.Run(name, func(t *testing.T) {
			h := open(t, configured)
			authentic := func(h http.Header) bool { return h.Get("X-Secret") == "right" }
			h.Called("POST /webhook/net", authentic, 16, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if body, err := io.ReadAll(r.Body); err != nil || string(body) != "update" {
					w.WriteHeader(http.StatusBadRequest)
				}
			}))
			for _, c := range []struct {
				what, method, path, secret, body string
				origin                           string
				want                             int
			}{
				{"the secret, through a proxy", "POST", "/webhook/net", "right", "update", "", 200},
				{"no secret", "POST", "/webhook/net", "", "update", "", 401},
				{"a wrong one", "POST", "/webhook/net", "wrong", "update", "", 401},
				{"a page of another site", "POST", "/webhook/net", "right", "update", "https://evil.example", 403},
				{"a long body", "POST", "/webhook/net", "right", strings.Repeat("x", 17), "", 413},
				{"a long body of unknown length", "POST", "/webhook/net", "right", strings.Repeat("y", 17), "", 400},
				{"another method", "GET", "/webhook/net", "right", "", "", 405},
			} {
				r := httptest.NewRequest(c.method, "http://bot.example.org"+c.path, strings.NewReader(c.body))
				r.RemoteAddr = "203.0.113.7:1234"
				r.Header.Set("X-Forwarded-For", "198.51.100.1")
				r.Header.Set("X-Secret", c.secret)
				if strings.HasPrefix(c.body, "y") {
					r.ContentLength = -1
				}
				if c.origin != "" {
					r.Header.Set("Origin", c.origin)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if configured == "" && c.want == 405 {
					c.want = 403 // an open port says nothing to the outside
				}
				if w.Code != c.want {
					t.Errorf("%s: %d %s, want %d", c.what, w.Code, w.Body, c.want)
				}
			}
		})
	}
}

func TestWrongSecretsAreCounted(t *testing.T) {
	failed := 0
	h := open(t, token, func(o *web.Options) { o.Failed = func(bool) { failed++ } })
	h.Called("POST /webhook/net", func(h http.Header) bool { return h.Get("X-Secret") == "right" }, 16, said)
	call := func(secret string) int {
		r := httptest.NewRequest("POST", "http://bot.example.org/webhook/net", nil)
		r.RemoteAddr = "203.0.113.7:1234"
		r.Header.Set("X-Secret", secret)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	codes := map[int]int{}
	for range 10 {
		codes[call("wrong")]++
	}
	if codes[401] != 6 || codes[429] != 4 || failed != 10 {
		t.Errorf("ten wrong secrets: %v, %d counted; want six 401, four 429, all counted", codes, failed)
	}
	if code := call("right"); code != 200 {
		t.Errorf("the right secret after them: %d, want 200", code)
	}
}

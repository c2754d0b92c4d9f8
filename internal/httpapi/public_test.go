package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/httpapi"
)

const token = "0123456789abcdef"

func ask(h http.Handler, target string, change ...func(*http.Request)) (int, map[string]any) {
	r := httptest.NewRequest("GET", target, nil)
	r.Host, r.RemoteAddr = "127.0.0.1:8787", "127.0.0.1:5000"
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var body map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &body)
	return w.Code, body
}

func TestHealth(t *testing.T) {
	var failing error
	checks := 0
	clock := began
	h := httpapi.Public(httpapi.PublicOptions{
		Check: func(ctx context.Context) error {
			checks++
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("the check has no deadline")
			}
			return failing
		},
		Now: func() time.Time { return clock },
	})
	if code, body := ask(h, "/healthz"); code != 200 || body["status"] != "ok" {
		t.Errorf("healthz = %d %v", code, body)
	}
	failing = fmt.Errorf("sqlite: check: %w", syscall.ENOSPC)
	if code, _ := ask(h, "/healthz"); code != 200 || checks != 1 {
		t.Errorf("healthz = %d after %d checks, want the remembered 200", code, checks)
	}
	clock = clock.Add(6 * time.Second)
	code, body := ask(h, "/healthz")
	if code != 503 || !strings.HasPrefix(body["reason"].(string), "The disk is full") {
		t.Errorf("healthz = %d %v, want the disk to be full", code, body)
	}
	failing = nil
	clock = clock.Add(-time.Hour) // the clock was set back
	if code, _ := ask(h, "/healthz"); code != 200 {
		t.Errorf("healthz = %d after the clock was set back, want 200", code)
	}
	if code, _ := ask(h, "/metrics"); code != 404 {
		t.Errorf("metrics = %d, want 404 without a handler", code)
	}
}

func TestHungStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := httpapi.Public(httpapi.PublicOptions{Check: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		code, body := ask(h, "/healthz")
		if code != 503 || body["reason"] != "The store does not answer in time." {
			t.Errorf("healthz = %d %v", code, body)
		}
	})
}

func TestReady(t *testing.T) {
	ready := errors.New("starting")
	h := httpapi.Public(httpapi.PublicOptions{
		Check: func(context.Context) error { return nil },
		Ready: func() error { return ready },
		Channels: func() map[string]channels.Status {
			return map[string]channels.Status{"irc": {State: channels.StateDown, Detail: "connection refused"}}
		},
	})
	code, body := ask(h, "/readyz")
	if code != 503 || body["reason"] != "starting" {
		t.Errorf("readyz = %d %v", code, body)
	}
	ready = nil
	code, body = ask(h, "/readyz")
	if code != 200 || body["status"] != "ready" || body["channels"].(map[string]any)["irc"] == nil {
		t.Errorf("readyz = %d %v", code, body)
	}
}

func TestPlainReason(t *testing.T) {
	for text, want := range map[string]string{
		"sqlite: database or disk is full (13)":             "The disk is full",
		"attempt to write a readonly database (8)":          "read-only",
		"database disk image is malformed (11)":             "damaged",
		"file is not a database (26)":                       "something else",
		"disk I/O error (10)":                               "input/output",
		"something with a secret in it that nobody expects": "the daemon's log says why",
	} {
		if got := httpapi.PlainReason(errors.New(text)); !strings.Contains(got, want) {
			t.Errorf("PlainReason(%q) = %q, want %q in it", text, got, want)
		}
	}
	if got := httpapi.PlainReason(fmt.Errorf("x: %w", syscall.EROFS)); !strings.Contains(got, "read-only") {
		t.Errorf("PlainReason(EROFS) = %q", got)
	}
}

func TestGuardWithoutToken(t *testing.T) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	h := httpapi.Guard("", ok)
	header := func(k, v string) func(*http.Request) { return func(r *http.Request) { r.Header.Set(k, v) } }
	tests := []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"curl", func(*http.Request) {}, 200},
		{"localhost", func(r *http.Request) { r.Host = "LocalHost:8787" }, 200},
		{"IPv6", func(r *http.Request) { r.Host, r.RemoteAddr = "[::1]:8787", "[::1]:5" }, 200},
		{"mapped", func(r *http.Request) { r.RemoteAddr = "[::ffff:127.0.0.1]:5" }, 200},
		{"a page of ours", header("Origin", "http://127.0.0.1:8787"), 200},
		{"typed in", header("Sec-Fetch-Site", "none"), 200},
		{"rebinding", func(r *http.Request) { r.Host = "evil.example:8787" }, 403},
		{"no host", func(r *http.Request) { r.Host = "" }, 403},
		{"localhost.evil", func(r *http.Request) { r.Host = "localhost.evil.example" }, 403},
		{"another page", header("Origin", "http://evil.example"), 403},
		{"another port", header("Origin", "http://127.0.0.1:9999"), 403},
		{"a sandbox", header("Origin", "null"), 403},
		{"an image on another page", header("Sec-Fetch-Site", "cross-site"), 403},
		{"same site is not same origin", header("Sec-Fetch-Site", "same-site"), 403},
		{"another machine", func(r *http.Request) { r.RemoteAddr = "192.0.2.1:5" }, 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if code, _ := ask(h, "/x", tt.change); code != tt.want {
				t.Errorf("status %d, want %d", code, tt.want)
			}
		})
	}
}

func TestGuardWithToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := httpapi.Guard(token, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		with := func(value, from string) int {
			code, _ := ask(h, "/x", func(r *http.Request) {
				r.RemoteAddr, r.Host = from+":5", "bot.example"
				if value != "" {
					r.Header.Set("Authorization", value)
				}
			})
			return code
		}
		for value, want := range map[string]int{
			"Bearer " + token: 200, "": 401, "Bearer ": 401, "Bearer " + token + "x": 401, token: 401, "Basic " + token: 401,
		} {
			if got := with(value, "192.0.2.1"); got != want {
				t.Errorf("%q = %d, want %d", value, got, want)
			}
		}
		for range 20 {
			with("Bearer guess", "192.0.2.2")
		}
		if got := with("Bearer "+token, "192.0.2.2"); got != 429 {
			t.Errorf("after 20 guesses = %d, want 429: the limit comes before the check", got)
		}
		if got := with("Bearer "+token, "192.0.2.3"); got != 200 {
			t.Errorf("another address = %d, want 200", got)
		}
		time.Sleep(time.Minute)
		if got := with("Bearer "+token, "192.0.2.2"); got != 200 {
			t.Errorf("a minute later = %d, want 200", got)
		}
	})
}

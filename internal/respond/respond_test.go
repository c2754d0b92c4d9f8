package respond_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dragoman/internal/respond"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		body   string
		header map[string]string
	}{
		"a field": {
			err: &respond.Refusal{Status: 400, Param: "messages[2].role", Sentence: "A role is missing."}, status: 400,
			body: `{"error":{"message":"A role is missing.","type":"invalid_request_error","param":"messages[2].role","code":"invalid_value"}}`,
		},
		"no login": {
			err: &respond.Refusal{Status: 401, Sentence: "Log in."}, status: 401,
			body:   `{"error":{"message":"Log in.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
			header: map[string]string{"WWW-Authenticate": `Bearer realm="dragoman"`},
		},
		"too small a scope": {
			err: &respond.Refusal{Status: 403, Code: respond.CodeScope, Sentence: "No."}, status: 403,
			body:   `{"error":{"message":"No.","type":"invalid_request_error","param":null,"code":"insufficient_scope"}}`,
			header: map[string]string{"WWW-Authenticate": `Bearer realm="dragoman", error="insufficient_scope"`},
		},
		"forbidden for everybody": {
			err: &respond.Refusal{Status: 403, Sentence: "No."}, status: 403,
			body:   `{"error":{"message":"No.","type":"invalid_request_error","param":null,"code":"forbidden"}}`,
			header: map[string]string{"WWW-Authenticate": "", "Retry-After": ""},
		},
		"too many": {
			err: &respond.Refusal{Status: 429, Sentence: "Wait."}, status: 429,
			body:   `{"error":{"message":"Wait.","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`,
			header: map[string]string{"Retry-After": "60"},
		},
		"too many, for a while": {
			err: &respond.Refusal{Status: 429, Code: "insufficient_quota", RetryAfter: 90 * time.Minute, Sentence: "Wait."}, status: 429,
			body:   `{"error":{"message":"Wait.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
			header: map[string]string{"Retry-After": "5400"},
		},
		"soon": {
			err: &respond.Refusal{Status: 503, RetryAfter: time.Millisecond, Sentence: "Wait."}, status: 503,
			body:   `{"error":{"message":"Wait.","type":"server_error","param":null,"code":"unavailable"}}`,
			header: map[string]string{"Retry-After": "1"},
		},
		"wrapped": {
			err: fmt.Errorf("api: read: %w", &respond.Refusal{Status: 404, Sentence: "Gone."}), status: 404,
			body: `{"error":{"message":"Gone.","type":"invalid_request_error","param":null,"code":"not_found"}}`,
		},
		"a cause stays here": {
			err: &respond.Refusal{Status: 502, Sentence: "The model refused.", Cause: errors.New("secret")}, status: 502,
			body: `{"error":{"message":"The model refused.","type":"server_error","param":null,"code":"upstream_error"}}`,
		},
		"any error": {
			err: errors.New("open /secret/path"), status: 500,
			body: `{"error":{"message":"Something went wrong here. Try again.","type":"server_error","param":null,"code":"internal_error"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			respond.Refuse(w, c.err)
			if w.Code != c.status {
				t.Errorf("status = %d, want %d", w.Code, c.status)
			}
			if diff := cmp.Diff(c.body+"\n", w.Body.String()); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			for name, want := range c.header {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
			for name, want := range map[string]string{
				"Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
			} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestAnswerThatCannotBeEncoded(t *testing.T) {
	w := httptest.NewRecorder()
	respond.JSON(w, 200, map[string]any{"f": func() {}})
	if w.Code != 500 || !strings.Contains(w.Body.String(), "cannot be encoded") {
		t.Errorf("answer = %d %s, want a refusal", w.Code, w.Body)
	}
}

// What one end refuses, the other end reads.
func TestReadRefusal(t *testing.T) {
	sent := &respond.Refusal{Status: 429, Code: "insufficient_quota", Param: "text", Sentence: "Not today.", RetryAfter: time.Hour, Cause: fs.ErrClosed}
	w := httptest.NewRecorder()
	respond.Refuse(w, sent)
	got := respond.ReadRefusal(w.Result())
	if diff := cmp.Diff(sent, got, cmpopts.IgnoreFields(respond.Refusal{}, "Cause")); diff != "" {
		t.Errorf("ReadRefusal (-want +got):\n%s", diff)
	}
	if !errors.Is(sent, fs.ErrClosed) || got.Unwrap() != nil || !got.Temporary() {
		t.Errorf("cause here = %v, there = %v; temporary = %t", sent.Cause, got.Cause, got.Temporary())
	}
	for _, body := range []string{"", "<html>", `{"error":"a sentence"}`, `{"error":null}`} {
		w := httptest.NewRecorder()
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.WriteString(body)
		if got := respond.ReadRefusal(w.Result()); got.Status != 502 || got.Sentence != "502 Bad Gateway" {
			t.Errorf("ReadRefusal of %q = %d %q, want the status line", body, got.Status, got.Sentence)
		}
	}
}

func TestRoutes(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /things/{name}", func(w http.ResponseWriter, r *http.Request) {
		respond.JSON(w, 200, r.PathValue("name"))
	})
	mux.HandleFunc("POST /things/{name}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/folder/", func(w http.ResponseWriter, _ *http.Request) { respond.JSON(w, 200, "in it") })
	for _, c := range []struct {
		method, path string
		status       int
		allow, body  string
	}{
		{"GET", "/things/one", 200, "", `"one"`},
		{"DELETE", "/things/one", 405, "GET, HEAD, POST", `"code":"method_not_allowed"`},
		{"GET", "/nowhere", 404, "", `"code":"not_found"`},
		{"GET", "//things/one", 404, "", `"code":"not_found"`},
		{"GET", "/things//one", 404, "", `"code":"not_found"`},
		{"GET", "/x/../things/one", 404, "", `"code":"not_found"`},
		{"GET", "/things/a%2F%2Fb", 200, "", `"a//b"`},
		{"GET", "/folder/one", 200, "", `"in it"`},
		{"GET", "/folder", 404, "", `"code":"not_found"`},
	} {
		w := httptest.NewRecorder()
		respond.Routes(mux).ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.status || w.Header().Get("Allow") != c.allow || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s %s = %d %q %s, want %d %q with %s", c.method, c.path, w.Code, w.Header().Get("Allow"), w.Body, c.status, c.allow, c.body)
		}
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			t.Errorf("%s %s answers %q", c.method, c.path, w.Header().Get("Content-Type"))
		}
	}
}

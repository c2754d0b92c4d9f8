package mcp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/agent/mcp"
	"dragoman/agent/mcp/mcptest"
	"dragoman/internal/testkit"
)

// waiting wants that a server has these tools which nobody has accepted.
func waiting(t *testing.T, p *mcp.Pool, want ...string) {
	t.Helper()
	testkit.Eventually(t, strings.Join(want, ", ")+" to wait", func() bool {
		return slices.Equal(p.Status(t.Context())[0].Waiting, want)
	})
}

// A tool that a server has meanwhile waits to be accepted, without another connection.
func TestListChanged(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		name string
		web  bool
	}{{"good", false}, {"good@old", false}, {"good", true}} {
		t.Run(strings.Join([]string{s.name, map[bool]string{true: "web"}[s.web]}, " "), func(t *testing.T) {
			t.Parallel()
			server := mcp.Server{Name: "s", Command: mcptest.Command(s.name)}
			if s.web {
				web := httptest.NewServer(mcptest.Handler(s.name))
				t.Cleanup(web.Close)
				server = mcp.Server{Name: "s", URL: web.URL}
			}
			p := open(t, &notes{}, mcp.Options{}, server)
			before := offered(t, p)
			if _, err := run(t, named(t, p, "s__grow"), `{}`); err != nil {
				t.Fatal(err)
			}
			waiting(t, p, "s__later")
			if got := offered(t, p); got != before {
				t.Errorf("offered are %q, before it were %q", got, before)
			}
			if !s.web {
				return // another process does not have the tool
			}
			r, err := p.Test(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Accept(t.Context(), "s", r.Digest); err != nil || !strings.Contains(offered(t, p), "s__later") {
				t.Errorf("once it is accepted = %v, offered are %q", err, offered(t, p))
			}
		})
	}
}

// A tool that says something else is not offered any more, as soon as its server says so.
func TestListChangedToSomethingElse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rug", "rug@old"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			later := filepath.Join(t.TempDir(), "later")
			p := open(t, &notes{}, mcp.Options{}, mcp.Server{Name: "s", Command: mcptest.Command(name, later)})
			work := named(t, p, "s__work")
			if err := os.Mkdir(later, 0o700); err != nil {
				t.Fatal(err)
			}
			if _, err := run(t, work, `{}`); err != nil {
				t.Fatal(err)
			}
			waiting(t, p, "s__extra", "s__work")
			if got := offered(t, p); got != "s__echo" {
				t.Errorf("offered are %q", got)
			}
		})
	}
}

// However often a server says that its tools have changed, they are seldom listed.
func TestListChangedAllTheTime(t *testing.T) {
	t.Parallel()
	var lists atomic.Int64
	inner := mcptest.Handler("good")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/list" {
			lists.Add(1)
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	p := open(t, &notes{}, mcp.Options{}, mcp.Server{Name: "s", URL: web.URL})
	grow := named(t, p, "s__grow")
	began := time.Now()
	for range 50 {
		if _, err := run(t, grow, `{}`); err != nil {
			t.Fatal(err)
		}
	}
	waiting(t, p, "s__later")
	most := 2 + int64(time.Since(began)/(5*time.Second))
	if n := lists.Load(); n < 2 || n > most {
		t.Errorf("listed %d times in %s, want 2 to %d", n, time.Since(began), most)
	}
}

// A server that never answers to the request for changes works all the same.
func TestListenWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	inner := mcptest.Handler("good")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "subscriptions/listen" {
			_, _ = io.Copy(io.Discard, r.Body) // else the end of the client is not heard
			<-r.Context().Done()
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	p := open(t, &notes{}, mcp.Options{Start: 3 * time.Second}, mcp.Server{Name: "s", URL: web.URL})
	if got, err := run(t, named(t, p, "s__echo"), `{"text":"tulips"}`); err != nil || !strings.HasSuffix(got, "tulips") {
		t.Errorf("a call = %q, %v", got, err)
	}
}

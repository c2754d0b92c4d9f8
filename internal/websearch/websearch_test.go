package websearch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/websearch"
)

// asked is what a service was asked.
type asked struct{ method, path, query, token, body string }

// serve is a service that gives one answer, and an engine that asks it.
func serve(t *testing.T, name string, status int, answer string) (*websearch.Engine, *asked) {
	t.Helper()
	seen := &asked{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*seen = asked{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("X-Subscription-Token") + r.Header.Get("Authorization"), string(body)}
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	e, err := websearch.New(websearch.Options{Name: name, URL: server.URL + "/", Key: "k3y"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e, seen
}

func TestServices(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		asked  asked
		found  []websearch.Result
	}{
		"searxng": {
			`{"query":"x","results":[{"title":"One","url":"https://one.example/","content":"first\n words","publishedDate":"2026-11-01T00:00:00","score":1.5},{"title":"Two","url":"javascript:alert(1)"}]}`,
			asked{"GET", "/search", "format=json&q=a+b%26c", "", ""},
			[]websearch.Result{{"One", "https://one.example/", "first words", "2026-11-01T00:00:00"}},
		},
		"brave": {
			`{"web":{"results":[{"title":"One &amp; two","url":"https://one.example/?a=b","description":"<strong>first</strong> words","age":"2 days ago"}]}}`,
			asked{"GET", "/res/v1/web/search", "count=10&q=a+b%26c&text_decorations=false", "k3y", ""},
			[]websearch.Result{{"One & two", "https://one.example/?a=b", "first words", "2 days ago"}},
		},
		"tavily": {
			`{"results":[{"title":"One","url":"http://one.example","content":"first","published_date":"Sun"},{"title":"none"},{"title":"named","url":"https://user:pw@one.example"}]}`,
			asked{"POST", "/search", "", "Bearer k3y", `{"max_results":10,"query":"a b\u0026c"}`},
			[]websearch.Result{{"One", "http://one.example", "first", "Sun"}},
		},
	} {
		e, seen := serve(t, name, 200, test.answer)
		found, err := e.Search(t.Context(), "a b&c")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.found, found); diff != "" {
			t.Errorf("%s: results (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.asked, *seen, cmp.AllowUnexported(asked{})); diff != "" {
			t.Errorf("%s: request (-want +got):\n%s", name, diff)
		}
	}
}

// Every refusal is a sentence, and none has the key or what the service wrote.
func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		answer string
		want   string
	}{
		{"searxng", 403, "", "add json to search.formats"},
		{"brave", 401, "", "refused the key (HTTP 401)"},
		{"brave", 422, "", "refused the key (HTTP 422)"},
		{"tavily", 429, "", "wants a pause of 60 seconds"},
		{"tavily", 500, "secret words", "answered with HTTP 500"},
		{"tavily", 302, "", "answered with HTTP 302"},
		{"brave", 200, "<html>", "gave an answer that is none"},
	} {
		e, _ := serve(t, test.name, test.status, test.answer)
		_, err := e.Search(t.Context(), "x")
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "k3y") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s with %d: the error is %v, want %q", test.name, test.status, err, test.want)
		}
	}
}

func TestMuchIsCut(t *testing.T) {
	one := `{"title":"` + strings.Repeat("é", 300) + `","url":"https://a.example/","content":"` + strings.Repeat("x", 5000) + `\u001b[31m\u202e"}`
	e, _ := serve(t, "searxng", 200, `{"results":[`+strings.Repeat(one+",", 40)+one+`]}`)
	found, err := e.Search(t.Context(), "x")
	if err != nil || len(found) != websearch.MostResults {
		t.Fatalf("%d results, %v", len(found), err)
	}
	if r := found[0]; len(r.Title) > 210 || len(r.Text) > 610 || strings.ContainsAny(r.Text, "\x1b\u202e") {
		t.Errorf("a result has a title of %d bytes and a text of %d", len(r.Title), len(r.Text))
	}
}

// A passage that is made to need hundreds of megabytes is cut before it is read.
func TestPassageBomb(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("<p>")
	for i := range 400 {
		fmt.Fprintf(&bomb, "<font a=%d>", i)
	}
	bomb.WriteString(strings.Repeat("<p>x", 3000))
	e, _ := serve(t, "brave", 200, `{"web":{"results":[{"title":"One","url":"https://a.example/","description":"`+bomb.String()+`"}]}}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := e.Search(t.Context(), "x")
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; err != nil || took > 50 {
		t.Errorf("%d MB were allocated, %v", took, err)
	}
}

func TestTheCallerStops(t *testing.T) {
	e, _ := serve(t, "searxng", 200, `{}`)
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := e.Search(ctx, "x"); !errors.Is(err, stopped) {
		t.Errorf("the error is %v", err)
	}
}

func TestNobodyThere(t *testing.T) {
	e, err := websearch.New(websearch.Options{Name: "searxng", URL: "http://127.0.0.1:1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Search(t.Context(), "x"); err == nil || err.Error() != "the search service 127.0.0.1 did not answer" {
		t.Errorf("the error is %v", err)
	}
	if _, err := websearch.New(websearch.Options{Name: "searxng"}, nil); err == nil {
		t.Error("SearXNG has an address of its own")
	}
}

package app_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/internal/testkit"
)

// The efforts that a server lists are those that it is asked for.
func TestListedEfforts(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{})
	at, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	at.Path = ""
	pass := httputil.NewSingleHostReverseProxy(at)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			_, _ = io.WriteString(w, `{"data": [{"id": "m", "capabilities": {"effort": {"supported": true, "low": {"supported": true}, "high": {"supported": true}}}}]}`)
			return
		}
		pass.ServeHTTP(w, r)
	}))
	defer front.Close()
	p := newPlace(t, "model: {base_url: '"+front.URL+"/v1', name: m, reasoning: max}")
	r := p.run()
	defer r.stop()
	page := r.page("")
	testkit.Eventually(t, "the effort high instead of max", func() bool { // the server is asked beside the start
		r.ask(page, "hello")
		all := server.Requests()
		return strings.Contains(string(all[len(all)-1].Body), `"reasoning_effort":"high"`)
	})
}

package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"dragoman/agent/mcp"
	"dragoman/agent/mcp/mcptest"
)

// The same over HTTP, and what only servers there can do.
func TestHostileWeb(t *testing.T) {
	t.Parallel()
	serve := func(name string, args ...string) string {
		server := httptest.NewServer(mcptest.Handler(name, args...))
		t.Cleanup(func() { // after the pool's
			server.CloseClientConnections()
			server.Close()
		})
		return server.URL
	}
	var led atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { led.Add(1) }))
	defer elsewhere.Close()
	servers := []mcp.Server{{Name: "good", URL: serve("good")}}
	for _, m := range hostileWeb {
		servers = append(servers, mcp.Server{Name: m.server(), URL: serve(m.name, elsewhere.URL)})
	}
	together(t, newPool(t, servers...), hostileWeb)
	if n := led.Load(); n > 0 {
		t.Errorf("servers led us elsewhere %d times", n)
	}
}

// nothing is what is said of a server over HTTP that gives no answer.
const nothing = "no connection to it, or what it sent is no answer"

// hostileWeb is what comes of the behaviours over HTTP.
var hostileWeb = []misbehaving{
	{name: "web-clings", work: "done"},
	{name: "web-comments", off: "did not answer"},
	{name: "web-cut", off: nothing},
	{name: "web-event", off: tooLong},
	{name: "web-forgets", off: "status 404"},
	{name: "web-gzip", off: "sent more than 1024 KiB"},
	{name: "web-headers", off: nothing},
	{name: "web-huge", off: "sent more than 1024 KiB"},
	{name: "web-later", off: "status 503"},
	{name: "web-metadata", off: "refused us .HTTP 401"},
	{name: "web-page", off: nothing},
	{name: "web-redirect", off: "redirects to another address"},
	{name: "web-silent", off: "did not answer"},
	{name: "asks", work: asksPerson},
	{name: "bad-json", work: "no JSON"},
	{name: "big", work: "."},
	{name: "breaks-schema", work: "breaks the schema"},
	{name: "deep-result", work: tooDeep},
	{name: "drip", work: noAnswer},
	{name: "hang", work: noAnswer},
	{name: "ids", work: "."},
	{name: "leaves@old", work: asksPerson + "|" + nothing},
	{name: "line", work: "."},
	{name: "no-params", work: asksPerson},
	{name: "notes", work: "too many events"},
	{name: "odd-parts", work: "done"},
	{name: "requests", work: "too many events|" + noAnswer},
	{name: "progress", work: noAnswer},
	{name: "storm", work: "too many events"},
	{name: "samples", work: notGiven},
	{name: "tiny-parts", work: tooMany},
}

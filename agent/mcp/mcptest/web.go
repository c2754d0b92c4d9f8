package mcptest

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// web are behaviours that only a server of HTTP has. Their first argument, if they need
// one, is the address that they lead a client to.
var web = map[string]struct {
	does  string
	serve func(w http.ResponseWriter, r *http.Request, args []string)
}{
	"web-huge": {"answers everything with 64 MB of JSON", func(w http.ResponseWriter, _ *http.Request, _ []string) {
		w.Header().Set("Content-Type", "application/json")
		endless(w, 64)
	}},
	"web-gzip": {"answers everything with 1 GB of JSON that is 1 MB while it is packed", func(w http.ResponseWriter, _ *http.Request, _ []string) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		endless(packed, 1024)
		_ = packed.Close() // a client that is gone is none of a server's business
	}},
	"web-event": {"answers everything with an event of 64 MB", func(w http.ResponseWriter, _ *http.Request, _ []string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: ")
		endless(w, 64)
	}},
	"web-comments": {"answers everything with signs of life and nothing else", func(w http.ResponseWriter, r *http.Request, _ []string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, ": still here\n\n")
			w.(http.Flusher).Flush()
			rest(r, 100*time.Millisecond)
		}
	}},
	"web-silent": {"takes every request and answers none", func(_ http.ResponseWriter, r *http.Request, _ []string) { rest(r, forever) }},
	"web-metadata": {"wants a login at the address of its argument, or at that of the cloud's secrets", func(w http.ResponseWriter, _ *http.Request, args []string) {
		at := "http://169.254.169.254/latest/meta-data/iam/security-credentials/"
		if len(args) > 0 {
			at = args[0]
		}
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+at+`", scope="all"`)
		w.WriteHeader(http.StatusUnauthorized)
	}},
	"web-redirect": {"sends every request on to the address of its argument", func(w http.ResponseWriter, r *http.Request, args []string) {
		http.Redirect(w, r, args[0], http.StatusTemporaryRedirect)
	}},
	"web-page": {"answers everything with a page", func(w http.ResponseWriter, _ *http.Request, _ []string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>Welcome to nginx!</title>")
	}},
	"web-later": {"is overloaded, and wants a year of patience", func(w http.ResponseWriter, _ *http.Request, _ []string) {
		w.Header().Set("Retry-After", "31536000")
		w.WriteHeader(http.StatusServiceUnavailable)
	}},
	"web-cut": {"ends each connection in the middle of an answer", func(w http.ResponseWriter, _ *http.Request, _ []string) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{`)
		panic(http.ErrAbortHandler)
	}},
	"web-headers": {"answers with 20 MB of headers", func(w http.ResponseWriter, _ *http.Request, _ []string) {
		for n := range 20 {
			w.Header().Set(fmt.Sprint("X-Much-", n), megabyte)
		}
		w.WriteHeader(http.StatusOK)
	}},
	"web-clings": {"asks in a call whether somebody is there, and ends no request but the call's", func(w http.ResponseWriter, r *http.Request, _ []string) {
		w.Header().Set("Mcp-Session-Id", "s")
		held := &conn{ctx: r.Context(), out: w, frame: "data: %s\n\n", old: true, web: true}
		b := behaviour{on: map[string]func(c *conn, m message){"work": func(c *conn, m message) {
			c.send(`{"jsonrpc":"2.0","id":"there","method":"ping"}`)
			c.text(m, "done")
		}, "": func(*conn, message) { rest(r, forever) }}}
		if r.Method == http.MethodDelete {
			rest(r, forever)
			return
		}
		answer(b, held, w, r)
	}},
	"web-forgets": {"forgets each session as soon as it has begun", forget},
}

// WebNames are the behaviours that only a server of HTTP has, sorted.
func WebNames() []string { return slices.Sorted(maps.Keys(web)) }

// Handler is a server over HTTP: a good one, one of [WebNames], or one of [Names]. Those
// that are about a process or about what is sent between answers make no sense here. A good
// one is an [io.Closer], which ends the sessions of clients that were killed.
func Handler(name string, args ...string) http.Handler {
	if slices.Contains(Good, name) {
		return goodHandler(name)
	}
	if name == Random {
		return randomHandler(args)
	}
	if b, ok := web[name]; ok {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.serve(w, r, args) })
	}
	name, old := strings.CutSuffix(name, "@old")
	b, ok := behaviours()[name]
	if !ok {
		panic("mcptest: no server is called " + name)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &conn{ctx: r.Context(), out: w, frame: "data: %s\n\n", old: old, args: args, web: true}
		answer(b, c, w, r)
	})
}

// answer answers one request with a stream of events that ends with the handler.
func answer(b behaviour, c *conn, w http.ResponseWriter, r *http.Request) {
	var m message
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if m.ID == nil || m.Method == "" {
		if b.on[""] != nil && m.Method == "" && r.Header.Get("Mcp-Session-Id") != "" {
			b.handle(c, m)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	b.handle(c, m)
	if m.Method == "subscriptions/listen" {
		rest(r, forever)
	}
}

// forget has sessions of the former era, and knows none of them later.
func forget(w http.ResponseWriter, r *http.Request, _ []string) {
	if r.Header.Get("Mcp-Session-Id") != "" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Mcp-Session-Id", strings.Repeat("s", 8<<10))
	answer(behaviour{}, &conn{ctx: r.Context(), out: w, frame: "data: %s\n\n", old: true, web: true}, w, r)
}

// rest waits, but not longer than the client does, of whose end the server hears only once
// its request is read.
func rest(r *http.Request, d time.Duration) {
	_, _ = io.Copy(io.Discard, r.Body)
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// endless writes so many megabytes of one answer.
func endless(w io.Writer, megabytes int) {
	_, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"x":"`)
	for range megabytes {
		if err == nil {
			_, err = io.WriteString(w, megabyte)
		}
	}
	_, _ = io.WriteString(w, `"}}`)
}

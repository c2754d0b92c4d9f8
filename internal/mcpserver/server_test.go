package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/internal/api"
	"dragoman/internal/mcpserver"
	"dragoman/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is an API that knows one conversation, and lets each question wait.
func fake() *api.Client {
	real := httptest.NewRecorder() // says which form its answers have
	approve := func(context.Context, string, time.Time) (p sessions.Pairing, err error) { return p, nil }
	api.New(api.Options{Approve: approve}).ServeHTTP(real, httptest.NewRequest(http.MethodGet, "/", nil))
	form := real.Header().Get("Dragoman-Form")
	mux := http.NewServeMux()
	answer := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Dragoman-Form", form)
			_, _ = io.WriteString(w, body)
		})
	}
	long := strings.Repeat("é", 10_000)
	answer("GET /api/v1/conversations", `{"data": [{"key": "telegram:1", "title": "<Rome>", "message_count": 2}], "next": "n"}`)
	answer("GET /api/v1/conversations/{key}/messages", `{"data": [{"seq": 1, "role": "user", "content": "`+long+`", "at": "2026-11-29T00:00:00Z"}]}`)
	mux.HandleFunc("POST /api/v1/ask", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	return api.AsCaller(mux)
}

const meta = `"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}`

// The frames of both generations, over a pipe.
func TestFrames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, send, want string }{
		{"initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, `"protocolVersion":"2025-06-18"`},
		{"a revision of the future", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2031-01-01"}}`, `"protocolVersion":"2025-11-25"`},
		{"the stateless one has no initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` + meta + `}}`, `"code":-32601`},
		{"ping", `{"jsonrpc":"2.0","id":"a","method":"ping"}`, `{"jsonrpc":"2.0","id":"a","result":{}}`},
		{"no ping any more", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + meta + `}}`, `"code":-32601`},
		{"discover", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, `"supportedVersions":["2026-07-28","2025-11-25",`},
		{"discover is complete", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, `"resultType":"complete"`},
		{"an unknown revision", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"}}}`, `"code":-32022`},
		{"tools", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `"name":"search"`},
		{"nothing that writes", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send","arguments":{"conversation":"telegram:1","text":"x"}}}`, `"code":-32602`},
		{"arguments of null", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"conversations","arguments":null}}`, `"structuredContent":{"items":[{"conversation":"telegram:1","title":"\u003cRome\u003e","messages":2}],"next":"n"}`},
		{"modern call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `,"name":"conversations"}}`, `"resultType":"complete"`},
		{"arguments that do not fit", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"conversations","arguments":{"limit":"ten"}}}`, `"isError":true`},
		{"a long message", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"conversation":"telegram:1"}}}`, `é … (11808 more bytes)`},
		{"no JSON", `{"jsonrpc"`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `"code":-32600`},
		{"another version of JSON-RPC", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, `"id":7,"error":{"code":-32600`},
		{"no such method", `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, `"code":-32601`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			s := mcpserver.New(mcpserver.Options{Client: fake(), Version: "v"})
			if err := s.Pipe(t.Context(), strings.NewReader("\n"+test.send+"\n"), &out); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), test.want) || strings.Count(out.String(), "\n") != 1 || !json.Valid([]byte(out.String())) {
				t.Errorf("got %s, want one line with %s", out.String(), test.want)
			}
		})
	}
}

// Notifications get no answer, and a request can be cancelled while others are answered.
func TestCancel(t *testing.T) {
	t.Parallel()
	in, write := io.Pipe()
	read, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- mcpserver.New(mcpserver.Options{Client: fake(), Send: true}).Pipe(t.Context(), in, out)
	}()
	lines := bufio.NewScanner(read)
	say := func(s string) {
		t.Helper()
		if _, err := io.WriteString(write, s+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Errorf("got %s, want %s", lines.Text(), want)
		}
	}
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"send","arguments":{"conversation":"telegram:1","text":"x"}}}`)
	say(`{"jsonrpc":"2.0","id":6,"method":"ping"}`)
	next(`"id":6`)
	say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
	next(`"id":5`)
	_ = write.Close()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the pipe does not end")
	}
}

// At the port headers must say what the body does, and old clients read errors with 200.
func TestPort(t *testing.T) {
	t.Parallel()
	h := mcpserver.New(mcpserver.Options{Client: fake()}).Handler()
	post := func(body string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const (
		revision = "Mcp-Protocol-Version"
		method   = "Mcp-Method"
		name     = "Mcp-Name"
	)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `,"name":"conversations","arguments":{}}}`
	for _, test := range []struct {
		why     string
		body    string
		headers []string
		status  int
		want    string
	}{
		{"modern", call, []string{revision, "2026-07-28", method, "tools/call", name, "conversations"}, 200, "telegram:1"},
		{"modern without headers", call, nil, 400, "-32020"},
		{"another method", call, []string{revision, "2026-07-28", method, "tools/list", name, "conversations"}, 400, "-32020"},
		{"another tool", call, []string{revision, "2026-07-28", method, "tools/call", name, "read"}, 400, "-32020"},
		{"a header of the future", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{revision, "2031-01-01"}, 400, "-32022"},
		{"old", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{revision, "2025-06-18"}, 200, "conversations"},
		{"old, no such tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec"}}`, nil, 200, "-32602"},
		{"modern, no such method", `{"jsonrpc":"2.0","id":1,"method":"x","params":{` + meta + `}}`, []string{revision, "2026-07-28", method, "x"}, 404, "-32601"},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ""},
		{"no JSON", `{`, nil, 400, "-32700"},
		{"too large", strings.Repeat(" ", 2<<20), nil, 413, "bytes"},
	} {
		if w := post(test.body, test.headers...); w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s: %d %s, want %d with %s", test.why, w.Code, w.Body, test.status, test.want)
		}
	}
}

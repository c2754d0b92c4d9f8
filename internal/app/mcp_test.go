package app_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/mcpserver"
)

// mcp calls a tool at the port, and returns the answer.
func (r *running) mcp(token, tool, arguments string) string {
	r.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, "http://"+r.status().Listen+"/mcp", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.Status + " " + string(answer)
}

// At /mcp a caller reads what the API would let them read, and writes if the setting and the
// API allow it.
func TestMCPScopes(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "mcp: {send: true}").run()
	for _, key := range []string{ownTalk, "web:mine"} {
		if _, err := api.PutQuestion.Call(t.Context(), r.admin, api.Question{Key: channels.MustKey(key), Text: "the canary sings"}); err != nil {
			t.Fatal(err)
		}
	}
	restoreTalk(t, r.admin, channels.MustKey(othersTalk)) // "a secret"
	token := map[string]string{}
	for name, n := range map[string]api.NewToken{
		"chat": {Name: "chat", Scope: "chat"}, "admin": {Name: "admin", Scope: "admin"}, "other": {Name: "other", Scope: "admin", Person: "telegram:1"},
	} {
		made, err := api.CreateToken.Call(t.Context(), r.admin, n)
		if err != nil {
			t.Fatal(err)
		}
		token[name] = made.Secret
	}
	for _, test := range []struct{ who, tool, arguments, want, never string }{
		{"chat", "conversations", `{}`, ownTalk, othersTalk},
		{"chat", "read", `{"conversation":"` + ownTalk + `"}`, "canary", `"isError"`},
		{"chat", "search", `{"query":"canary"}`, ownTalk, `"isError"`},
		{"chat", "send", `{"conversation":"` + ownTalk + `","text":"say: well"}`, "well", `"isError"`},
		{"admin", "read", `{"conversation":"` + othersTalk + `"}`, `"isError":true`, "a secret"},
		{"admin", "search", `{"query":"secret"}`, `"items\":[]`, "a secret"},
		{"other", "conversations", `{}`, "200", "canary"},
		{"other", "read", `{"conversation":"` + ownTalk + `"}`, `"isError":true`, "canary"},
		{"other", "search", `{"query":"canary"}`, `"items\":[]`, "sings"},
		{"other", "send", `{"conversation":"` + ownTalk + `","text":"hello"}`, `"isError":true`, "answer"},
	} {
		got := r.mcp(token[test.who], test.tool, test.arguments)
		if !strings.HasPrefix(got, "200 ") || !strings.Contains(got, test.want) || strings.Contains(got, test.never) {
			t.Errorf("%s: %s %s: %s", test.who, test.tool, test.arguments, got)
		}
	}
	if got := r.mcp("drg_wrong", "conversations", `{}`); !strings.HasPrefix(got, "401 ") {
		t.Errorf("a wrong token: %s", got)
	}
}

// What another agent says is stored as what came by MCP, whichever way it came.
func TestMCPOrigin(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "mcp: {send: true}").run()
	made, err := api.CreateToken.Call(t.Context(), r.admin, api.NewToken{Name: "t", Scope: "operate"})
	if err != nil {
		t.Fatal(err)
	}
	r.mcp(made.Secret, "send", `{"conversation":"web:port","text":"hello"}`)
	line := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send","arguments":{"conversation":"web:pipe","text":"hello"}}}`
	err = mcpserver.New(mcpserver.Options{Client: r.admin, Send: true}).Pipe(t.Context(), strings.NewReader(line+"\n"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.PutQuestion.Call(t.Context(), r.admin, api.Question{Key: channels.MustKey("web:asked"), Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"web:port": "mcp", "web:pipe": "mcp", "web:asked": "api"} {
		page, err := api.ReadMessages.Call(t.Context(), r.admin, api.Part{Key: channels.MustKey(key)})
		if err != nil || len(page.Data) == 0 || page.Data[0].Via != want {
			t.Errorf("the messages of %s are %+v, %v; want via %s", key, page.Data, err, want)
		}
	}
}

// With mcp.serve: false there is no /mcp, and without mcp.send nothing that writes.
func TestMCPOff(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"mcp: {serve: false}": "404 ", "mcp: {}": "200 "} {
		r := newPlace(t, text).run()
		made, err := api.CreateToken.Call(t.Context(), r.admin, api.NewToken{Name: "t", Scope: "operate"})
		if err != nil {
			t.Fatal(err)
		}
		got := r.mcp(made.Secret, "send", `{"conversation":"web:default","text":"x"}`)
		if !strings.HasPrefix(got, want) || strings.Contains(got, "answer") {
			t.Errorf("%s: %s", text, got)
		}
		r.stop()
	}
}

package app_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/people"
	"dragoman/internal/respond"

	"github.com/google/go-cmp/cmp"
)

// need is what a request at the port needs.
type need struct {
	method, path string
	scope        people.Scope
	socket       bool // only callers at the socket have it
}

// portNeeds are the paths of the port besides the verbs of the API. A route without a
// row here fails the test.
var portNeeds = map[string][]need{
	"GET /login": nil, "POST /login": nil, "POST /login/link": nil, "POST /logout": nil,
	"GET /{$}": nil, "GET /favicon.ico": nil, "GET /assets/{name}": nil, "/healthz": nil, "/readyz": nil,

	"GET /api/session": {{method: "GET", path: "/api/session", scope: people.Chat}},
	"/api/chat/": {
		{method: "GET", path: "/api/chat/feed", scope: people.Chat},
		{method: "POST", path: "/api/chat/messages", scope: people.Chat},
		{method: "POST", path: "/api/chat/stop", scope: people.Chat},
		{method: "POST", path: "/api/chat/files", scope: people.Chat},
		{method: "GET", path: "/api/chat/file", scope: people.Chat},
		{method: "GET", path: "/api/chat/events", scope: people.Chat},
	},
	"GET /api/channels":                {{method: "GET", path: "/api/channels", scope: people.Chat}},
	"POST /api/channels/{name}/link":   {{method: "POST", path: "/api/channels/none/link", scope: people.Admin}},
	"POST /api/channels/{name}/unlink": {{method: "POST", path: "/api/channels/none/unlink", scope: people.Admin}},
	"POST /api/ask":                    {{method: "POST", path: "/api/ask", scope: people.Chat}},
	"GET /metrics":                     {{method: "GET", path: "/metrics", scope: people.Read}},
	"/api/v1/":                         nil, // see verbNeeds
}

var argument = regexp.MustCompile(`\{[a-z_]+\}`)

// verbNeeds are the verbs of the API, with arguments that name nothing.
func verbNeeds() (all []need) {
	for _, v := range api.Table() {
		path := argument.ReplaceAllString(strings.ReplaceAll(v.Path, "{key}", "web:none"), "none")
		all = append(all, need{v.Method, api.Root + path, v.Scope, v.Socket})
	}
	return all
}

// TestScopes asks a real daemon for everything at its port, with every kind of caller.
func TestScopes(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `http: {listen: "127.0.0.1:0", token: `+pageToken+`}`)
	r := p.run()
	callers := map[string]struct {
		secret string
		scope  people.Scope // "": nobody
	}{
		"no token": {}, "a wrong token": {secret: "wrong-" + pageToken}, "a mistyped token": {secret: "drg_AAAA"},
		"the configured token": {pageToken, people.Operate},
		"a revoked token":      {secret: r.token("revoked", "", "admin")},
	}
	for _, scope := range people.Scopes() {
		callers["the scope "+string(scope)] = struct {
			secret string
			scope  people.Scope
		}{r.token(string(scope), "", string(scope)), scope}
	}
	if _, err := api.RevokeToken.Call(t.Context(), r.admin, api.TokenName{Name: "revoked"}); err != nil {
		t.Fatal(err)
	}
	made, err := api.CreateToken.Call(t.Context(), r.admin, api.NewToken{Name: "expired", Scope: "admin", ExpiresIn: 1})
	if err != nil {
		t.Fatal(err)
	}
	r.until("the token to expire", func() bool { return r.request("GET", "/api/session", made.Secret, "", new(any)) != nil })
	callers["an expired token"] = struct {
		secret string
		scope  people.Scope
	}{secret: made.Secret}

	needs := verbNeeds()
	for _, some := range portNeeds {
		needs = append(needs, some...)
	}
	addr := r.status().Listen
	for name, c := range callers {
		for _, n := range needs {
			status, code := answerTo(t, "http://"+addr+n.path, n.method, c.secret)
			lacks := status == http.StatusForbidden && code == respond.CodeScope
			switch {
			case c.scope == "" && status != http.StatusUnauthorized && status != http.StatusTooManyRequests:
				t.Errorf("%s: %s %s = %d %s, want 401", name, n.method, n.path, status, code)
			case c.scope == "":
			case !c.scope.Includes(n.scope) && !lacks:
				t.Errorf("%s: %s %s = %d %s, want insufficient_scope: it needs %s", name, n.method, n.path, status, code, n.scope)
			case c.scope.Includes(n.scope) && n.socket && status != http.StatusForbidden:
				t.Errorf("%s: %s %s = %d %s, want it for the socket alone", name, n.method, n.path, status, code)
			case c.scope.Includes(n.scope) && (lacks || status == http.StatusUnauthorized):
				t.Errorf("%s: %s %s = %d %s, though it needs only %s", name, n.method, n.path, status, code, n.scope)
			}
		}
	}
}

// answerTo is the status and the code of a refusal. It does not wait for the end of
// what goes on.
func answerTo(t *testing.T, url, method, secret string) (status int, code string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 300 {
		return resp.StatusCode, ""
	}
	return resp.StatusCode, respond.ReadRefusal(resp).Code
}

// Every route of the port has a row in portNeeds, and the door asks no other scope.
func TestEveryRouteHasItsNeeds(t *testing.T) {
	t.Parallel()
	d, err := app.Open(t.Context(), newPlace(t, "").config(), app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	want, got := map[string]people.Scope{}, map[string]people.Scope{}
	for pattern, needs := range portNeeds {
		want[pattern] = ""
		if len(needs) > 0 {
			want[pattern] = needs[0].scope
		}
	}
	want["/api/v1/"] = people.Chat
	for _, route := range d.Routes() {
		got[route.Pattern] = route.Scope
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes without a row, or rows without a route (-want +got):\n%s", diff)
	}
}

package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/people"
	"dragoman/internal/web"
)

// A token does what its scope includes, for its person, and nothing else.
func TestScopes(t *testing.T) {
	h := open(t, token)
	far := []string{"Host: box.example:8787", "Remote: 203.0.113.7:5"}
	for _, c := range []struct {
		who, secret string
		want        string // the person, "" if nobody
		scope       people.Scope
	}{
		{"chat", h.token("phone", "telegram:42", people.Chat), "telegram:42", people.Chat},
		{"read", h.token("graphs", "", people.Read), "operator", people.Read},
		{"operate", h.token("desk", "", people.Operate), "operator", people.Operate},
		{"admin", h.token("root", "", people.Admin), "operator", people.Admin},
		{"the configured token", token, "operator", people.Operate},
	} {
		for _, route := range []struct {
			method, path string
			scope        people.Scope
		}{
			{"GET", "/api/chat/feed", people.Chat},
			{"POST", "/api/ask", people.Chat},
			{"GET", "/metrics", people.Read},
			{"POST", "/api/queue", people.Operate},
			{"POST", "/api/link", people.Admin},
		} {
			got := ask(h, route.method, route.path, nil, append(far, bearer(c.secret))...)
			if c.scope.Includes(route.scope) {
				if got.Code != 200 || !strings.Contains(got.Body.String(), "by "+c.want+" as "+string(c.scope)) {
					t.Errorf("%s at %s = %d %s", c.who, route.path, got.Code, got.Body)
				}
				continue
			}
			if got.Code != 403 || codeOf(t, got.Body.Bytes()) != "insufficient_scope" || !strings.Contains(got.Header().Get("WWW-Authenticate"), "insufficient_scope") {
				t.Errorf("%s at %s = %d %s, want insufficient_scope", c.who, route.path, got.Code, got.Body)
			}
		}
	}
}

// codeOf is the code of a refusal, which must have all four keys.
func codeOf(t *testing.T, body []byte) string {
	t.Helper()
	var refusal struct{ Error map[string]any }
	if err := json.Unmarshal(body, &refusal); err != nil {
		t.Fatalf("%s is no JSON: %v", body, err)
	}
	for _, key := range []string{"message", "type", "param", "code"} {
		if _, there := refusal.Error[key]; !there {
			t.Errorf("%s lacks %s", body, key)
		}
	}
	code, _ := refusal.Error["code"].(string)
	return code
}

// A token that is no good is refused with the reason, at every door.
func TestTokensThatAreNoGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, "")
		good := h.token("good", "", people.Chat)
		revoked := h.token("revoked", "", people.Admin)
		if _, err := h.tokens.Revoke(t.Context(), "revoked", ""); err != nil {
			t.Fatal(err)
		}
		_, expired, err := h.tokens.Create(t.Context(), people.NewToken{Name: "expired", Scope: people.Chat, Lasts: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		mistyped := good[:10] + "A" + good[11:]
		if mistyped == good {
			mistyped = good[:10] + "B" + good[11:]
		}
		for secret, why := range map[string]string{
			revoked: "revoked", expired: "expired", mistyped: "mistyped", "drg_": "mistyped", "wrong": "not the token", "": "Log in", token: "not the token",
		} {
			got := ask(h, "GET", "/api/chat/feed", nil, bearer(secret))
			if got.Code != 401 || !strings.Contains(got.Body.String(), why) || got.Header().Get("WWW-Authenticate") != `Bearer realm="dragoman"` {
				t.Errorf("a token that is %s: %d %s", why, got.Code, got.Body)
			}
			if secret != "" && strings.Contains(got.Body.String(), secret) {
				t.Errorf("%s shows the token", got.Body)
			}
			time.Sleep(time.Minute) // a new count of failures
		}
		if got := ask(h, "GET", "/api/chat/feed", nil); got.Code != 401 {
			t.Errorf("without a token, though one was created: %d, want 401", got.Code)
		}
		if got := ask(h, "GET", "/api/chat/feed", nil, bearer(good), bearer(good)); got.Code != 401 {
			t.Errorf("two tokens = %d, want 401", got.Code)
		}
	})
}

// Who shows that they are two people is neither.
func TestTwoPeople(t *testing.T) {
	h := open(t, token)
	anns := h.token("ann", "telegram:42", people.Chat)
	operators := cookie(t, login(h, token))
	for name, c := range map[string]struct {
		headers []string
		want    int
	}{
		"the session alone":                      {[]string{operators}, 200},
		"another person's token and session":     {[]string{operators, bearer(anns)}, 401},
		"a second token of the same person":      {[]string{operators, bearer(h.token("desk", "", people.Read))}, 200},
		"a wrong token beside a good session":    {[]string{operators, bearer("drg_wrong")}, 401},
		"another kind of Authorization":          {[]string{operators, "Authorization: Basic dXNlcjpwYXNz"}, 200},
		"an unknown session beside a good token": {[]string{"Cookie: dragoman_session=x", bearer(anns)}, 200},
	} {
		if got := ask(h, "GET", "/api/chat/feed", nil, c.headers...); got.Code != c.want {
			t.Errorf("%s = %d %s, want %d", name, got.Code, got.Body, c.want)
		}
	}
}

// Without any token the port has the operator's chat and nothing more, until one is
// created.
func TestOpenPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, "")
		for path, want := range map[string]int{"/api/chat/feed": 200, "/api/session": 200, "/metrics": 403} {
			if got := ask(h, "GET", path, nil); got.Code != want {
				t.Errorf("%s = %d %s, want %d", path, got.Code, got.Body, want)
			}
		}
		got := ask(h, "POST", "/api/link", nil, ours)
		if got.Code != 403 || !strings.Contains(got.Body.String(), "dragoman console") {
			t.Errorf("linking = %d %s, want how to get in", got.Code, got.Body)
		}
		if got := ask(h, "GET", "/api/chat/feed", nil, bearer("wrong")).Code; got != 401 {
			t.Errorf("a wrong token = %d, want 401", got)
		}
		h.token("phone", "telegram:42", people.Chat)
		time.Sleep(3 * time.Second)
		if got := ask(h, "GET", "/api/chat/feed", nil); got.Code != 401 {
			t.Errorf("after a token was created = %d, want 401", got.Code)
		}
		if got := ask(h, "GET", "/", nil, "Host: box.example"); got.Code != 200 {
			t.Errorf("the page under another name, with a token to log in with = %d, want 200", got.Code)
		}
	})
}

// What a proxy has passed on does not come from this machine, whichever header says so.
func TestForwardedIsNotLocal(t *testing.T) {
	h := open(t, "")
	for _, header := range []string{
		"X-Forwarded-For: 198.51.100.1", "X-Forwarded-Host: chat.example.org", "X-Forwarded-Proto: https", "X-Forwarded-Port: 443",
		"X-Forwarded-Server: box", "X-Real-IP: 198.51.100.1", "Forwarded: for=198.51.100.1", "Via: 1.1 box", "X-Forwarded-For: ",
		"X-Client-IP: 198.51.100.1", "True-Client-IP: 198.51.100.1", "CF-Connecting-IP: 198.51.100.1", "X-Original-URL: /", "Remote-User: ann",
	} {
		for _, path := range []string{"/", "/api/chat/feed", "/login"} {
			if got := ask(h, "GET", path, nil, header); got.Code != 403 {
				t.Errorf("%s with %s = %d, want 403", path, header, got.Code)
			}
		}
	}
}

// Programs get JSON, also where there is nothing, and strangers do not learn where that is.
func TestNothingThere(t *testing.T) {
	h := open(t, token)
	for _, c := range []struct {
		method, path string
		headers      []string
		status       int
		code         string
	}{
		{"GET", "/v1/nothing", []string{bearer(token)}, 404, "not_found"},
		{"GET", "/api/nothing", []string{bearer(token), "Accept: text/html"}, 404, "not_found"},
		{"GET", "/api/ask", []string{bearer(token)}, 405, "method_not_allowed"},
		{"GET", "/api/nothing", nil, 401, "invalid_api_key"},
		{"GET", "/v1/nothing", []string{"Accept: text/html"}, 401, "invalid_api_key"},
		{"GET", "/nothing", nil, 404, "not_found"},
	} {
		got := ask(h, c.method, c.path, nil, c.headers...)
		if got.Code != c.status || codeOf(t, got.Body.Bytes()) != c.code || !strings.HasPrefix(got.Header().Get("Content-Type"), "application/json") {
			t.Errorf("%s %s = %d %s %s", c.method, c.path, got.Code, got.Header().Get("Content-Type"), got.Body)
		}
		if c.status == 405 && got.Header().Get("Allow") != "POST" {
			t.Errorf("Allow = %q, want POST", got.Header().Get("Allow"))
		}
	}
	if got := ask(h, "GET", "/nothing", nil, "Accept: text/html"); got.Code != 404 || got.Body.String() != "There is nothing here.\n" {
		t.Errorf("a browser reads %d %s", got.Code, got.Body)
	}
}

// If the store cannot say whose token it is, nobody new gets in.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, "")
		secret := h.token("phone", "telegram:42", people.Chat)
		session := cookie(t, login(h, secret))
		h.notes.breaks(errors.New("disk I/O error"))
		time.Sleep(time.Minute)
		for name, header := range map[string]string{"a token": bearer(secret), "a session": session, "nothing": "Accept: */*"} {
			got := ask(h, "GET", "/api/chat/feed", nil, header)
			if got.Code != 503 || got.Header().Get("Retry-After") == "" || strings.Contains(got.Body.String(), "disk") {
				t.Errorf("%s = %d %s, want 503 and not a word of the disk", name, got.Code, got.Body)
			}
		}
		h.notes.breaks(nil)
		if got := ask(h, "GET", "/api/chat/feed", nil, session); got.Code != 200 {
			t.Errorf("the session afterwards = %d, want 200", got.Code)
		}
	})
}

// Whoever may not read everything sees one word of the probes.
func TestProbesKnowTheScope(t *testing.T) {
	h := open(t, token)
	h.Probes(web.ProbeOptions{Check: func(context.Context) error { return errors.New("disk is full") }})
	for name, c := range map[string]struct {
		header string
		knows  bool
	}{
		"nobody": {"Host: anything", false}, "chat": {bearer(h.token("a", "telegram:42", people.Chat)), false}, "read": {bearer(h.token("b", "", people.Read)), true},
	} {
		got := ask(h, "GET", "/healthz", nil, c.header)
		if got.Code != http.StatusServiceUnavailable || strings.Contains(got.Body.String(), "reason") != c.knows {
			t.Errorf("%s reads %d %s, want the reason: %t", name, got.Code, got.Body, c.knows)
		}
	}
}

package web_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"dragoman/internal/people"
	"dragoman/internal/web"
)

// behind configures a proxy on another machine and one on this, which say who is who.
func behind(secret string) func(*web.Options) {
	return func(o *web.Options) {
		o.Addr = "0.0.0.0:8787"
		o.Proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32"), netip.MustParsePrefix("127.0.0.1/32")}
		o.Identity = web.Identity{Header: "remote-user", Secret: secret, People: map[string]people.Principal{
			"ann":  {ID: "telegram:42", Name: "ann", Scope: people.Chat},
			"boss": {ID: people.OperatorID, Name: "boss", Scope: people.Operate},
		}}
	}
}

const (
	fromProxy    = "Remote: 10.0.0.1:5"
	fromLoopback = "Remote: 127.0.0.1:5"
	fromStranger = "Remote: 203.0.113.7:5"
	proxySecret  = "a secret of the proxy"
)

// A header is believed only from a proxy that may say who is logged in.
func TestIdentityHeader(t *testing.T) {
	shows := web.SecretHeader + ": " + proxySecret
	for name, c := range map[string]struct {
		secret  string
		headers []string
		want    int
		by      string
	}{
		"the proxy":                        {"", []string{fromProxy, "Remote-User: ann"}, 200, "by telegram:42 as chat"},
		"of the operator":                  {"", []string{fromProxy, "Remote-User: boss"}, 200, "by operator as operate"},
		"nobody is logged in there":        {"", []string{fromProxy}, 401, ""},
		"a blank name":                     {"", []string{fromProxy, "Remote-User:  "}, 401, ""},
		"an unknown name":                  {"", []string{fromProxy, "Remote-User: eve"}, 403, ""},
		"another case":                     {"", []string{fromProxy, "Remote-User: Ann"}, 403, ""},
		"two names in one":                 {"", []string{fromProxy, "Remote-User: ann, boss"}, 403, ""},
		"forged beside the proxy's":        {"", []string{fromProxy, "Remote-User: boss", "Remote-User: ann"}, 400, ""},
		"the same name twice":              {"", []string{fromProxy, "Remote-User: ann", "Remote-User: ann"}, 400, ""},
		"forged by a stranger":             {"", []string{fromStranger, "Remote-User: boss"}, 401, ""},
		"forged, through X-Forwarded-For":  {"", []string{fromStranger, "X-Forwarded-For: 10.0.0.1", "Remote-User: boss"}, 401, ""},
		"forged twice by a stranger":       {"", []string{fromStranger, "Remote-User: boss", "Remote-User: boss"}, 401, ""},
		"any program on this machine":      {"", []string{fromLoopback, "Remote-User: boss"}, 401, ""},
		"this machine's proxy":             {proxySecret, []string{fromLoopback, "Remote-User: boss", shows}, 200, "by operator as operate"},
		"this machine, without the secret": {proxySecret, []string{fromLoopback, "Remote-User: boss"}, 401, ""},
		"this machine, a wrong secret":     {proxySecret, []string{fromLoopback, "Remote-User: boss", shows + "x"}, 401, ""},
		"this machine, the secret twice":   {proxySecret, []string{fromLoopback, "Remote-User: boss", shows, shows}, 401, ""},
		"an empty secret":                  {"", []string{fromLoopback, "Remote-User: boss", web.SecretHeader + ": "}, 401, ""},
		"a stranger who knows the secret":  {proxySecret, []string{fromStranger, "Remote-User: boss", shows}, 401, ""},
		"the secret alone":                 {proxySecret, []string{fromLoopback, shows}, 401, ""},
		"no proxy and no header":           {"", []string{fromLoopback}, 401, ""},
		"another site through the proxy":   {"", []string{fromProxy, "Remote-User: boss", "Origin: https://evil.example"}, 403, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, "", behind(c.secret))
			got := ask(h, "GET", "/api/chat/feed", nil, append(c.headers, "Host: chat.example.org")...)
			if got.Code != c.want || !strings.Contains(got.Body.String(), c.by) {
				t.Errorf("answer = %d %s, want %d %s", got.Code, got.Body, c.want, c.by)
			}
		})
	}
}

// A proxy's word is as ambient as a cookie: whoever changes something must show that no
// other site made them, and two people in one request are nobody.
func TestIdentityHeaderIsAmbient(t *testing.T) {
	h := open(t, token, behind(""))
	host := "Host: chat.example.org"
	ann := "Remote-User: ann"
	anns := h.token("ann", "telegram:42", people.Chat)
	for name, c := range map[string]struct {
		method  string
		headers []string
		want    int
	}{
		"a post that shows nothing":         {"POST", []string{ann}, 403},
		"a post by the page":                {"POST", []string{ann, "Origin: https://chat.example.org"}, 200},
		"Ann's token as well":               {"POST", []string{ann, bearer(anns)}, 200},
		"the operator's token as well":      {"GET", []string{ann, bearer(token)}, 401},
		"the operator's session as well":    {"GET", []string{ann, cookie(t, login(h, token))}, 401},
		"the operator's session, by itself": {"GET", []string{cookie(t, login(h, token))}, 200},
		"an unknown name and a good token":  {"GET", []string{"Remote-User: eve", bearer(token)}, 403},
	} {
		if got := ask(h, c.method, "/api/chat/messages", nil, append(c.headers, fromProxy, host)...); got.Code != c.want {
			t.Errorf("%s = %d %s, want %d", name, got.Code, got.Body, c.want)
		}
	}
	origin := "Origin: http://chat.example.org"
	if got := ask(h, "POST", "/login", strings.NewReader("token="+strings.ReplaceAll(token, " ", "+")), fromProxy, host, origin, ann, "Content-Type: application/x-www-form-urlencoded"); got.Code != 401 {
		t.Errorf("a login as somebody else = %d, want 401", got.Code)
	}
	secret := h.link()
	if got := exchange(h, secretBody(secret), fromProxy, host, origin, ann); got.Code != 401 {
		t.Errorf("a link in Ann's browser = %d, want 401", got.Code)
	}
	if got := exchange(h, secretBody(secret), ours); got.Code != 200 {
		t.Errorf("the link afterwards = %d %s, want it unused", got.Code, got.Body)
	}
}

// Nothing behind the door sees what proxies and strangers say.
func TestIdentityHeaderIsStripped(t *testing.T) {
	h := open(t, token, behind(proxySecret))
	h.Protect("/api/headers", people.Chat, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Remote-User", web.SecretHeader} {
			if got := r.Header.Get(name); got != "" {
				t.Errorf("%s: %s gets behind the door", name, got)
			}
		}
	}))
	for _, from := range []string{fromStranger, fromLoopback} {
		if got := ask(h, "GET", "/api/headers", nil, from, bearer(token), "Remote-User: boss", web.SecretHeader+": "+proxySecret); got.Code != 200 {
			t.Errorf("%s = %d %s", from, got.Code, got.Body)
		}
	}
}

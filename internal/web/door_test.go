package web_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/people"
	"dragoman/internal/web"
)

// Programs can ask with the token; other sites cannot.
func TestAsk(t *testing.T) {
	for _, c := range []struct {
		token   string
		headers []string
		want    int
	}{
		{token, nil, 401},
		{token, []string{"Authorization: Bearer wrong horse battery staple"}, 401},
		{token, []string{"Authorization: Bearer " + token}, 200},
		{"", []string{"X-Dragoman: 1"}, 200},
		{"", nil, 403},
		{"", []string{"Origin: https://evil.example"}, 403},
	} {
		if w := ask(open(t, c.token), "POST", "/api/ask", strings.NewReader("{}"), c.headers...); w.Code != c.want {
			t.Errorf("token %t, %v: %d, want %d", c.token != "", c.headers, w.Code, c.want)
		}
	}
}

func TestNewValidates(t *testing.T) {
	for _, c := range []struct {
		addr, token string
		ok          bool
	}{
		{"127.0.0.1:8787", "", true},
		{"127.0.0.2:1", "", true},
		{"[::1]:8787", "", true},
		{"localhost:8787", "", true},
		{"[::ffff:127.0.0.1]:8787", "", true},
		{"0.0.0.0:8787", "", true},
		{":8787", "", true},
		{"[::]:8787", "", true},
		{"192.168.1.5:8787", "", true},
		{"127.0.0.1.example.org:8787", "", true},
		{"localhost.example.org:8787", "", true},
		{"0.0.0.0:8787", token, true},
		{":8787", token, true},
		{"0.0.0.0:8787", "hunter2", false},
		{"127.0.0.1:8787", "hunter2", false},
		{"127.0.0.1", "", false},
		{"", "", false},
	} {
		_, err := web.New(web.Options{Addr: c.addr, Token: c.token, Tokens: people.NewTokens(&notes{}, people.Options{Configured: c.token})})
		if (err == nil) != c.ok {
			t.Errorf("New(%q, token of %d) = %v, want ok %t", c.addr, len(c.token), err, c.ok)
		}
		if err != nil && c.token != "" && strings.Contains(err.Error(), c.token) {
			t.Errorf("%v shows the token", err)
		}
	}
}

// TestReachableWithoutToken: where other machines can reach the port, nobody comes in who
// shows nothing, not even from this machine and before there is a token.
func TestReachableWithoutToken(t *testing.T) {
	for addr, want := range map[string]int{
		"127.0.0.1:8787": 200, "0.0.0.0:8787": 401, ":8787": 401, "[::]:8787": 401, "192.168.1.5:8787": 401,
		"127.0.0.1.example.org:8787": 401,
	} {
		h := open(t, "", func(o *web.Options) { o.Addr = addr })
		if got := ask(h, "GET", "/api/chat/feed", nil); got.Code != want {
			t.Errorf("at %s a request without anything gets %d, want %d", addr, got.Code, want)
		}
		secret := h.token("laptop", "", people.Chat)
		if got := ask(h, "GET", "/api/chat/feed", nil, bearer(secret), "Remote: 192.0.2.7:50000"); got.Code != 200 {
			t.Errorf("at %s a named token gets %d, want 200", addr, got.Code)
		}
	}
}

func TestLoopbackWithoutToken(t *testing.T) {
	c := open(t, "")
	const own = "Origin: http://127.0.0.1:8787"
	for _, x := range []struct {
		name, method, path string
		want               int
		headers            []string
	}{
		{"page", "GET", "/", 200, nil},
		{"page by a link from elsewhere", "GET", "/", 200, []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}},
		{"curl reads", "GET", "/api/chat/feed", 200, nil},
		{"localhost", "GET", "/api/chat/feed", 200, []string{"Host: localhost:8787"}},
		{"LOCALHOST", "GET", "/api/chat/feed", 200, []string{"Host: LOCALHOST:8787"}},
		{"IPv6", "GET", "/api/chat/feed", 200, []string{"Host: [::1]:8787", "Remote: [::1]:5"}},
		{"rebound name", "GET", "/", 403, []string{"Host: evil.example:8787"}},
		{"rebound name, API", "GET", "/api/chat/feed", 403, []string{"Host: evil.example:8787"}},
		{"rebound name that looks local", "GET", "/api/chat/feed", 403, []string{"Host: 127.0.0.1.evil.example:8787"}},
		{"other port", "GET", "/api/chat/feed", 403, []string{"Host: 127.0.0.1:9999"}},
		{"no port", "GET", "/api/chat/feed", 403, []string{"Host: 127.0.0.1"}},
		{"no host", "GET", "/api/chat/feed", 403, []string{"Host: "}},
		{"from another machine", "GET", "/api/chat/feed", 403, []string{"Remote: 192.168.1.9:5"}},
		{"from an odd address", "GET", "/", 403, []string{"Remote: pipe"}},
		{"page posts", "POST", "/api/chat/messages", 200, []string{own, "Sec-Fetch-Site: same-origin"}},
		{"old browser posts", "POST", "/api/chat/messages", 200, []string{own}},
		{"other site posts", "POST", "/api/chat/messages", 403, []string{"Origin: https://evil.example", "Sec-Fetch-Site: cross-site"}},
		{"other site posts, old browser", "POST", "/api/chat/messages", 403, []string{"Origin: https://evil.example"}},
		{"other site posts, with our header", "POST", "/api/chat/messages", 403, []string{"Origin: https://evil.example", "X-Dragoman: 1"}},
		{"other port of this machine", "POST", "/api/chat/messages", 403, []string{"Origin: http://127.0.0.1:3000", "Sec-Fetch-Site: same-site"}},
		{"other scheme", "POST", "/api/chat/messages", 403, []string{"Origin: file://127.0.0.1:8787"}},
		{"null origin", "POST", "/api/chat/messages", 403, []string{"Origin: null"}},
		{"no origin but cross-site", "POST", "/api/chat/messages", 403, []string{"Sec-Fetch-Site: cross-site"}},
		{"same-site", "POST", "/api/chat/messages", 403, []string{own, "Sec-Fetch-Site: same-site"}},
		{"curl posts bare", "POST", "/api/chat/messages", 403, nil},
		{"curl posts with the header", "POST", "/api/chat/messages", 200, []string{"X-Dragoman: 1"}},
		{"PUT bare", "PUT", "/api/chat/messages", 403, nil},
		{"OPTIONS from elsewhere", "OPTIONS", "/api/chat/messages", 403, []string{"Origin: https://evil.example", "Access-Control-Request-Headers: x-dragoman"}},
		{"events from elsewhere", "GET", "/api/chat/events", 403, []string{"Origin: https://evil.example", "Sec-Fetch-Site: cross-site"}},
		{"events as a picture", "GET", "/api/chat/events", 403, []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}},
		{"events by the page", "GET", "/api/chat/events", 200, []string{"Sec-Fetch-Site: same-origin"}},
		{"feed typed into the address bar", "GET", "/api/chat/feed", 200, []string{"Sec-Fetch-Site: none"}},
		{"session", "GET", "/api/session", 200, nil},
		{"nowhere", "GET", "/etc/passwd", 404, nil},
		{"out of the assets", "GET", "/assets/..%2fconsole.go", 404, nil},
		{"login page", "GET", "/login", 200, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := ask(c, x.method, x.path, nil, x.headers...)
			if got.Code != x.want {
				t.Errorf("%s %s %q = %d %s, want %d", x.method, x.path, x.headers, got.Code, got.Body, x.want)
			}
			if got.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Error("the answer allows other origins")
			}
		})
	}
}

// Browsers heed Cross-Origin-Opener-Policy on https and loopback. Elsewhere they ignore it, and
// say so in their console.
func TestOpenerPolicy(t *testing.T) {
	c := open(t, token)
	for host, want := range map[string]string{
		"Host: 127.0.0.1:8787": "same-origin", "Host: localhost": "same-origin", "Host: [::1]:8787": "same-origin",
		"Host: box.example:8787": "", "Host: 192.168.1.5": "",
	} {
		if got := ask(c, "GET", "/login", nil, host).Header().Get("Cross-Origin-Opener-Policy"); got != want {
			t.Errorf("%s gets %q, want %q", host, got, want)
		}
	}
	if got := ask(c, "GET", "/login", nil, "Host: box.example", "X-Forwarded-For: 203.0.113.7").Header().Get("Cross-Origin-Opener-Policy"); got != "same-origin" {
		t.Errorf("behind a proxy, which may speak TLS, the header is %q", got)
	}
}

func TestWithToken(t *testing.T) {
	c := open(t, token)
	far := []string{"Host: box.example:8787", "Remote: 203.0.113.7:5"}
	for _, x := range []struct {
		name, method string
		want         int
		headers      []string
	}{
		{"nothing", "GET", 401, nil},
		{"bearer reads", "GET", 200, []string{"Authorization: Bearer " + token}},
		{"bearer posts without an origin", "POST", 200, []string{"Authorization: bearer " + token}},
		{"bearer, other site", "POST", 403, []string{"Authorization: Bearer " + token, "Origin: https://evil.example"}},
		{"wrong", "GET", 401, []string{"Authorization: Bearer " + token + "x"}},
		{"empty", "GET", 401, []string{"Authorization: Bearer "}},
		{"present only", "GET", 401, []string{"Authorization: Bearer"}},
		{"basic", "GET", 401, []string{"Authorization: Basic " + token}},
		{"the token as a cookie", "GET", 401, []string{"Cookie: dragoman_session=" + token}},
		{"empty cookie", "GET", 401, []string{"Cookie: dragoman_session="}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := open(t, token) // a fresh count of guesses
			if got := ask(c, x.method, "/api/chat/feed", nil, append(far, x.headers...)...); got.Code != x.want {
				t.Errorf("status = %d %s, want %d", got.Code, got.Body, x.want)
			}
		})
	}
	if got := ask(c, "GET", "/api/chat/feed?token="+url.QueryEscape(token), nil, far...); got.Code != 401 {
		t.Errorf("the token in the URL = %d, want 401", got.Code)
	}
	if got := ask(c, "GET", "/api/chat/feed", nil); got.Code != 401 {
		t.Errorf("loopback in spite of a token = %d, want 401", got.Code)
	}
}

// login posts the form and returns the response.
func login(c http.Handler, given string, headers ...string) *httptest.ResponseRecorder {
	form := strings.NewReader(url.Values{"token": {given}}.Encode())
	headers = append([]string{"Content-Type: application/x-www-form-urlencoded", "Origin: http://127.0.0.1:8787"}, headers...)
	return ask(c, "POST", "/login", form, headers...)
}

func TestLogin(t *testing.T) {
	c := open(t, token)
	in := login(c, token)
	if in.Code != http.StatusSeeOther || in.Header().Get("Location") != "/" {
		t.Fatalf("login = %d to %q, want a redirect to the page", in.Code, in.Header().Get("Location"))
	}
	cookies := in.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("cookies = %v, want one", cookies)
	}
	cookie := cookies[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || len(cookie.Value) < 20 {
		t.Errorf("cookie = %v, want HttpOnly, SameSite=Strict and a long random value", cookie)
	}
	if strings.Contains(cookie.Value, token) || cookie.Value == login(c, token).Result().Cookies()[0].Value {
		t.Error("the cookie's value is the token, or is the same twice")
	}
	shown := "Cookie: " + cookie.Name + "=" + cookie.Value
	if got := ask(c, "GET", "/api/chat/feed", nil, shown); got.Code != 200 {
		t.Errorf("with the cookie = %d, want 200", got.Code)
	}
	if got := ask(c, "POST", "/api/chat/messages", nil, shown); got.Code != 403 {
		t.Errorf("a post with the cookie that shows no origin = %d, want 403", got.Code)
	}
	if got := ask(c, "POST", "/api/chat/messages", nil, shown, "Origin: http://127.0.0.1:8787"); got.Code != 200 {
		t.Errorf("a post by the page = %d, want 200", got.Code)
	}
	if got := ask(c, "POST", "/logout", nil, shown, "Origin: http://evil.example"); got.Code != 403 {
		t.Errorf("logout by another site = %d, want 403", got.Code)
	}
	if got := ask(c, "POST", "/logout", nil, shown, "Origin: http://127.0.0.1:8787"); got.Code != 303 {
		t.Errorf("logout = %d, want 303", got.Code)
	}
	if got := ask(c, "GET", "/api/chat/feed", nil, shown); got.Code != 401 {
		t.Errorf("after logout = %d, want 401", got.Code)
	}
}

// A login leads back to where the person was, and never to another site.
func TestLoginLeadsBack(t *testing.T) {
	c := open(t, token)
	for to, want := range map[string]string{
		"": "/", "/talk": "/talk", "/talk/web%3Atelegram%3A42%2Fdefault/details": "/talk/web%3Atelegram%3A42%2Fdefault/details",
		"/talk?room=work#channels": "/talk?room=work#channels", "https://evil.example/talk": "/", "//evil.example/talk": "/",
		"///evil.example": "/evil.example", `/\evil.example`: "/%5Cevil.example", "javascript:alert(1)": "/", "talk": "/", "%zz": "/",
		"/talk\r\nX: 1": "/",
	} {
		form := strings.NewReader(url.Values{"token": {token}}.Encode())
		got := ask(c, "POST", "/login?to="+url.QueryEscape(to), form, "Content-Type: application/x-www-form-urlencoded", "Origin: http://127.0.0.1:8787")
		if got.Code != http.StatusSeeOther || got.Header().Get("Location") != want {
			t.Errorf("a login for %q = %d, leads to %q, want %q", to, got.Code, got.Header().Get("Location"), want)
		}
	}
}

// A login expires, even if the browser keeps its cookie.
func TestLoginEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, token)
		cookie := login(c, token).Result().Cookies()[0]
		shown := "Cookie: " + cookie.Name + "=" + cookie.Value
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{29 * 24 * time.Hour, 200}, {23 * time.Hour, 200}, {2 * time.Hour, 401}} {
			time.Sleep(step.after)
			if got := ask(c, "GET", "/api/chat/feed", nil, shown).Code; got != step.want {
				t.Errorf("%s later: %d, want %d", step.after, got, step.want)
			}
		}
	})
}

func TestLoginRefuses(t *testing.T) {
	c := open(t, token)
	if got := login(c, token, "Sec-Fetch-Site: cross-site"); got.Code != 403 || len(got.Result().Cookies()) != 0 {
		t.Errorf("login by another site = %d, want 403 and no cookie", got.Code)
	}
	if got := ask(c, "GET", "/login?token="+url.QueryEscape(token), nil); len(got.Result().Cookies()) != 0 {
		t.Error("the token in the URL logs in")
	}
	if got := ask(c, "POST", "/login?token="+url.QueryEscape(token), nil, "Origin: http://127.0.0.1:8787"); len(got.Result().Cookies()) != 0 {
		t.Error("the token in the URL of a POST logs in")
	}
	if got := login(c, strings.Repeat("x", 1<<20)); got.Code != 400 {
		t.Errorf("a login of 1 MiB = %d, want 400", got.Code)
	}
	if page := ask(c, "GET", "/login", nil).Body.String(); page != "login: " {
		t.Errorf("the login page = %s, want the form alone", page)
	}
	evil := login(c, `"><script>alert(1)</script>`)
	if page := evil.Body.String(); page != "login: That is not the token." {
		t.Errorf("the login page after a wrong token = %s, want what was wrong", page)
	}
	if evil.Code != 401 || strings.Contains(evil.Body.String(), "<script>alert") {
		t.Errorf("wrong token = %d %s", evil.Code, evil.Body)
	}
}

func TestGuessesAreLimited(t *testing.T) {
	c := open(t, token)
	session := "Cookie: dragoman_session=" + login(c, token).Result().Cookies()[0].Value
	slow := 0
	for range 20 {
		if login(c, "guess").Code == http.StatusTooManyRequests {
			slow++
		}
	}
	if slow < 10 {
		t.Errorf("%d of 20 guesses were refused for their number, want at least 10", slow)
	}
	// Behind a proxy all may share one address: a stranger's guesses must not
	// lock the owner out.
	if got := login(c, token); got.Code != 303 {
		t.Errorf("the right token after too many guesses = %d, want 303", got.Code)
	}
	if got := ask(c, "GET", "/api/chat/feed", nil, "Authorization: Bearer "+token); got.Code != 200 {
		t.Errorf("the right bearer token after too many guesses = %d, want 200", got.Code)
	}
	if got := ask(c, "GET", "/api/chat/feed", nil, session); got.Code != 200 {
		t.Errorf("whoever is logged in = %d, want 200", got.Code)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	c := open(t, token)
	first := "Cookie: dragoman_session=" + login(c, token).Result().Cookies()[0].Value
	var last string
	for range 64 {
		last = "Cookie: dragoman_session=" + login(c, token).Result().Cookies()[0].Value
	}
	if got := ask(c, "GET", "/api/chat/feed", nil, first); got.Code != 401 {
		t.Errorf("the oldest of 65 sessions = %d, want 401", got.Code)
	}
	if got := ask(c, "GET", "/api/chat/feed", nil, last); got.Code != 200 {
		t.Errorf("the newest session = %d, want 200", got.Code)
	}
}

// A proxy that passes the host name on works without a public URL.
func TestThroughAProxy(t *testing.T) {
	c := open(t, token)
	for origin, want := range map[string]int{"https://chat.example.org": 200, "https://other.example.org": 403} {
		r := httptest.NewRequest("POST", "/api/chat/messages", nil)
		r.Host = "chat.example.org"
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("from %s = %d, want %d", origin, w.Code, want)
		}
	}
}

// Logins survive a restart; a logout is final, and a new token ends all logins.
func TestSessionsOutliveARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions")
	begin := func(token string) *house {
		t.Helper()
		return open(t, token, func(o *web.Options) { o.SessionsFile = file })
	}
	c := begin(token)
	stays := login(c, token).Result().Cookies()[0].Value
	leaves := login(c, token).Result().Cookies()[0].Value
	if kept, err := os.ReadFile(file); err != nil || len(kept) == 0 || strings.Contains(string(kept), stays) {
		t.Errorf("the file has the cookie itself, or nothing: %v", err)
	}
	ask(c, "POST", "/logout", nil, "Origin: http://127.0.0.1:8787", "Cookie: dragoman_session="+leaves)
	for name, tt := range map[string]struct {
		token, cookie string
		want          int
	}{
		"who stayed":      {token, stays, 200},
		"who logged out":  {token, leaves, 401},
		"under a new one": {token + "x", stays, 401},
	} {
		if got := ask(begin(tt.token), "GET", "/api/chat/feed", nil, "Cookie: dragoman_session="+tt.cookie).Code; got != tt.want {
			t.Errorf("after a restart %s gets %d, want %d", name, got, tt.want)
		}
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := login(begin(token), token).Code; got != 303 {
		t.Errorf("login beside a damaged file = %d, want 303", got)
	}
}

// Forwarding headers count only from trusted proxies.
func TestBehindAProxy(t *testing.T) {
	var log strings.Builder
	c := open(t, token, func(o *web.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		o.PublicURL = &url.URL{Scheme: "https", Host: "chat.example.org"}
	})
	for _, guess := range []struct{ remote, forwarded, want string }{
		{"127.0.0.1:5", "203.0.113.9, 198.51.100.1", "198.51.100.1"}, // the first is what the stranger made up
		{"127.0.0.1:5", "203.0.113.9", "203.0.113.9"},
		{"198.51.100.1:7", "203.0.113.77", "198.51.100.1"}, // from no proxy
	} {
		log.Reset()
		if got := login(c, "guess", "Remote: "+guess.remote, "X-Forwarded-For: "+guess.forwarded).Code; got != 401 || !strings.Contains(log.String(), "remote="+guess.want+"\n") {
			t.Errorf("from %s for %s = %d, logged as %s, want 401 and %s", guess.remote, guess.forwarded, got, log.String(), guess.want)
		}
	}
	in := login(c, token, "Remote: 127.0.0.1:5")
	if cookies := in.Result().Cookies(); len(cookies) != 1 || !cookies[0].Secure {
		t.Errorf("cookies = %v, want a secure one", cookies)
	}
	if got := ask(c, "POST", "/api/chat/messages", nil, "Origin: https://chat.example.org", "Authorization: Bearer "+token).Code; got != 200 {
		t.Errorf("from the page under its public name = %d, want 200", got)
	}
	// Without a token a proxy on this machine would open the page to everybody.
	if got := ask(open(t, ""), "GET", "/api/chat/feed", nil, "X-Forwarded-For: 198.51.100.1").Code; got != 403 {
		t.Errorf("through a proxy without a token = %d, want 403", got)
	}
}

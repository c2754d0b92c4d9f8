package web_test

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/people"
	"dragoman/internal/testkit"
	"dragoman/internal/web"
)

// exchange posts a link's secret as the page's script does.
func exchange(h *house, body string, headers ...string) *httptest.ResponseRecorder {
	return ask(h, "POST", "/login/link", strings.NewReader(body), append([]string{"Content-Type: application/json"}, headers...)...)
}

func secretBody(secret string) string { return `{"secret":"` + secret + `"}` }

// A link opens the page once, with all scopes, and nothing of it gets into a log.
func TestLink(t *testing.T) {
	for name, configured := range map[string]string{"an open port": "", "a port with a token": token} {
		t.Run(name, func(t *testing.T) {
			var log testkit.Output
			h := open(t, configured, func(o *web.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			secret := h.link()
			in := exchange(h, secretBody(secret), ours)
			session := cookie(t, in)
			if got := ask(h, "POST", "/api/link", nil, session, ours); got.Code != 200 || !strings.Contains(got.Body.String(), "by operator as admin") {
				t.Errorf("what needs admin = %d %s", got.Code, got.Body)
			}
			again := exchange(h, secretBody(secret), ours)
			if again.Code != 401 || len(again.Result().Cookies()) != 0 || !strings.Contains(again.Body.String(), "used") {
				t.Errorf("a replayed link = %d %s", again.Code, again.Body)
			}
			if got := ask(h, "POST", "/logout", nil, session, ours); got.Code != 303 {
				t.Errorf("logout = %d", got.Code)
			}
			if list, err := h.tokens.List(t.Context()); err != nil || len(list) != 1 || list[0].Revoked.IsZero() {
				t.Errorf("after the logout there are %+v, %v, want what the link began to be revoked", list, err)
			}
			if strings.Contains(log.String(), secret) || log.String() == "" {
				t.Errorf("the log has the link, or nothing:\n%s", log.String())
			}
		})
	}
}

// Nobody but our page exchanges a link, and not through a URL.
func TestLinkIsExchangedByOurPage(t *testing.T) {
	h := open(t, token)
	secret := h.link()
	for name, c := range map[string]struct {
		got  *httptest.ResponseRecorder
		want int
	}{
		"another site":      {exchange(h, secretBody(secret), "Origin: https://evil.example"), 403},
		"another site, old": {exchange(h, secretBody(secret), ours, "Sec-Fetch-Site: cross-site"), 403},
		"no origin":         {exchange(h, secretBody(secret), "X-Dragoman: 1"), 403},
		"a form":            {ask(h, "POST", "/login/link", strings.NewReader("secret="+secret), ours, "Content-Type: application/x-www-form-urlencoded"), 415},
		"text that is JSON": {ask(h, "POST", "/login/link", strings.NewReader(secretBody(secret)), ours, "Content-Type: text/plain"), 415},
		"an unknown field":  {exchange(h, `{"secret":"`+secret+`","scope":"admin"}`, ours), 400},
		"the URL":           {exchange(h, `{}`, ours), 400},
		"GET":               {ask(h, "GET", "/login/link?secret="+secret, nil), 405},
		"in a URL":          {ask(h, "GET", "/login?link="+secret, nil), 200},
		"as a token":        {ask(h, "GET", "/api/chat/feed", nil, bearer(secret)), 401},
		"as the token":      {login(h, secret), 401},
		"another secret":    {exchange(h, secretBody("x"+secret), ours), 401},
	} {
		if c.got.Code != c.want || len(c.got.Result().Cookies()) != 0 {
			t.Errorf("%s = %d %s, want %d and no cookie", name, c.got.Code, c.got.Body, c.want)
		}
	}
	if got := exchange(h, secretBody(secret), ours); got.Code != 200 {
		t.Errorf("the link afterwards = %d %s, want it unused", got.Code, got.Body)
	}
}

// The person is asked before a link ends another person's session, and the link is kept
// for the answer.
func TestLinkReplacesAnothersSessionOnlyIfAsked(t *testing.T) {
	h := open(t, token)
	anns := cookie(t, login(h, h.token("ann", "telegram:42", people.Chat)))
	secret := h.link()
	got := exchange(h, secretBody(secret), ours, anns)
	if got.Code != 409 || codeOf(t, got.Body.Bytes()) != "other_session" || !strings.Contains(got.Body.String(), "ann") {
		t.Fatalf("beside Ann's session = %d %s, want the question", got.Code, got.Body)
	}
	if got := ask(h, "GET", "/api/chat/feed", nil, anns); got.Code != 200 {
		t.Errorf("Ann's session before the answer = %d, want 200", got.Code)
	}
	session := cookie(t, exchange(h, `{"secret":"`+secret+`","replace":true}`, ours, anns))
	if got := ask(h, "POST", "/api/link", nil, session, ours); got.Code != 200 {
		t.Errorf("the new session = %d, want 200", got.Code)
	}
	if got := ask(h, "GET", "/api/chat/feed", nil, anns); got.Code != 401 {
		t.Errorf("Ann's session in this browser = %d, want it ended", got.Code)
	}
	// The operator's own smaller session is no other person's.
	own := cookie(t, login(h, token))
	if got := exchange(h, secretBody(h.link()), ours, own); got.Code != 200 {
		t.Errorf("beside the operator's session = %d %s, want 200", got.Code, got.Body)
	}
}

func TestLinkURL(t *testing.T) {
	for _, base := range []string{"http://127.0.0.1:8787", "http://127.0.0.1:8787/"} {
		got := web.LinkURL(base, "SECRET")
		u, err := url.Parse(got)
		if err != nil || u.Path != "/login" || u.RawQuery != "" || u.Fragment != "link=SECRET" {
			t.Errorf("LinkURL(%q) = %q, %v, want the secret behind the #", base, got, err)
		}
	}
}

// A session ends with its token, wherever it was revoked, and so do the streams.
func TestSessionEndsWithItsToken(t *testing.T) {
	for name, end := range map[string]func(h *house, session string){
		"revoked here": func(h *house, _ string) { _, _ = h.tokens.Revoke(h.t.Context(), "phone", "") },
		"revoked on a node": func(h *house, _ string) {
			_, _ = people.NewTokens(h.notes, people.Options{}).Revoke(h.t.Context(), "phone", "")
		},
		"expired":               func(*house, string) { time.Sleep(time.Hour) },
		"logged out":            func(h *house, session string) { ask(h, "POST", "/logout", nil, session, ours) },
		"its person was erased": func(h *house, _ string) { h.notes.forget() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := open(t, token)
				_, secret, err := h.tokens.Create(t.Context(), people.NewToken{Name: "phone", Person: "telegram:42", Scope: people.Chat, Lasts: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				session := cookie(t, login(h, secret))
				if got := ask(h, "GET", "/api/chat/feed", nil, session); got.Code != 200 {
					t.Fatalf("the session = %d, want 200", got.Code)
				}
				stream := h.stream(session)
				end(h, session)
				stream.endsWithin(t, 5*time.Second)
				if got := ask(h, "GET", "/api/chat/feed", nil, session); got.Code != 401 {
					t.Errorf("the session afterwards = %d, want 401", got.Code)
				}
			})
		})
	}
}

// Streams of the token itself, and those of an open port, end as well; others go on.
func TestStreamsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, "")
		anybody := h.stream("Accept: */*")
		secret := h.token("phone", "telegram:42", people.Chat)
		stays := h.stream(bearer(h.token("desk", "", people.Read)))
		anybody.endsWithin(t, 5*time.Second)
		phone := h.stream(bearer(secret))
		if _, err := h.tokens.Revoke(t.Context(), "phone", ""); err != nil {
			t.Fatal(err)
		}
		phone.endsWithin(t, 5*time.Second)
		h.notes.breaks(errStoreIsAway)
		time.Sleep(time.Minute)
		synctest.Wait()
		select {
		case <-stays.ended:
			t.Error("a stream ended with another's token, or because the store is away")
		default:
		}
	})
}

// A session that an earlier version stored is one of the configured token.
func TestSessionsOfEarlierVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := open(t, token)
		session := cookie(t, login(now, token))
		all, err := now.Logins()
		if err != nil {
			t.Fatal(err)
		}
		var stored struct {
			Token string
			Begun map[string]any
		}
		if err := json.Unmarshal(all, &stored); err != nil || len(stored.Begun) != 1 {
			t.Fatalf("%s, %v, want one session", all, err)
		}
		for name := range stored.Begun {
			stored.Begun[name] = time.Now().Add(time.Hour)
		}
		later := open(t, token)
		old, err := json.Marshal(map[string]any{"token": stored.Token, "all": true, "begun": stored.Begun})
		if err != nil {
			t.Fatal(err)
		}
		if err := later.ReceiveLogins(old); err != nil {
			t.Fatal(err)
		}
		if got := ask(later, "POST", "/api/queue", nil, session, ours); got.Code != 200 {
			t.Errorf("the session = %d %s, want that of the configured token (%s)", got.Code, got.Body, old)
		}
	})
}

// Failures count for the address that they come from, and slow nobody else down.
func TestGuessesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, token, func(o *web.Options) { o.Proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")} })
		guess := func(headers ...string) int {
			return ask(h, "GET", "/api/chat/feed", nil, append(headers, bearer("a wrong token"))...).Code
		}
		for range 6 {
			if got := guess("Remote: 203.0.113.7:5"); got != 401 {
				t.Fatalf("a wrong token = %d, want 401", got)
			}
		}
		for name, c := range map[string]struct {
			headers []string
			want    int
		}{
			"the same address":               {[]string{"Remote: 203.0.113.7:9"}, 429},
			"it says that it is another":     {[]string{"Remote: 203.0.113.7:9", "X-Forwarded-For: 203.0.113.99"}, 429},
			"the same address, by the proxy": {[]string{"Remote: 10.0.0.1:9", "X-Forwarded-For: 203.0.113.7"}, 429},
			"another, by the proxy":          {[]string{"Remote: 10.0.0.1:9", "X-Forwarded-For: 203.0.113.8"}, 401},
			"another address":                {[]string{"Remote: 203.0.113.9:5"}, 401},
		} {
			got := ask(h, "GET", "/api/chat/feed", nil, append(c.headers, bearer("a wrong token"))...)
			if got.Code != c.want || (c.want == 429) != (got.Header().Get("Retry-After") == "60") {
				t.Errorf("%s = %d %v, want %d", name, got.Code, got.Header(), c.want)
			}
		}
		for i, host := range []string{"1", "2", "3", "4", "5", "6", "7"} {
			got := guess("Remote: [2001:db8:1:2::" + host + "]:5")
			if want := map[bool]int{true: 401, false: 429}[i < 6]; got != want {
				t.Errorf("guess %d of a network = %d, want %d", i+1, got, want)
			}
		}
		time.Sleep(time.Minute)
		if got := guess("Remote: 203.0.113.7:5"); got != 401 {
			t.Errorf("a minute later = %d, want 401", got)
		}
	})
}

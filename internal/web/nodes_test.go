package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"dragoman/internal/web"
)

// A browser that has logged in on one node has access on the others, until it logs out on any
// of them. A node with another token ignores the logins.
func TestLoginOnAnotherNode(t *testing.T) {
	const token = "a token of twenty letters"
	nodes := map[string]*house{}
	store := &notes{}
	begin := func(name, token string) *house {
		h := on(t, store, token, func(o *web.Options) {
			o.Broadcast = func(logins []byte) error {
				for other, h := range nodes {
					if err := h.ReceiveLogins(logins); other != name && err != nil {
						return err
					}
				}
				return nil
			}
		})
		nodes[name] = h
		return h
	}
	ask := func(c *house, method, path, body string, cookies ...*http.Cookie) *http.Response {
		r := httptest.NewRequest(method, "http://127.0.0.1:8787"+path, strings.NewReader(body))
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, cookie := range cookies {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		return w.Result()
	}
	letsIn := func(c *house, cookie *http.Cookie, want bool) {
		t.Helper()
		if code := ask(c, "GET", "/api/session", "", cookie).StatusCode; (code == http.StatusOK) != want {
			t.Errorf("status %d, want let in: %v", code, want)
		}
	}
	a := begin("a", token)
	b := begin("b", token)
	stranger := begin("c", "quite another token here")
	login := ask(a, "POST", "/login", url.Values{"token": {token}}.Encode())
	if len(login.Cookies()) != 1 {
		t.Fatalf("status %d, no cookie", login.StatusCode)
	}
	cookie := login.Cookies()[0]
	letsIn(a, cookie, true)
	letsIn(b, cookie, true)
	letsIn(stranger, cookie, false)

	all, err := b.Logins()
	if err != nil {
		t.Fatal(err)
	}
	late := begin("d", token)
	letsIn(late, cookie, false)
	if err := late.ReceiveLogins(all); err != nil {
		t.Fatal(err)
	}
	letsIn(late, cookie, true)

	// The complete list of a node with another token ends none of ours.
	foreign, err := on(t, store, "a third token of letters").Logins()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.ReceiveLogins(foreign); err != nil {
		t.Fatal(err)
	}
	letsIn(a, cookie, true)

	delete(nodes, "d") // it does not run while the browser logs out
	ask(b, "POST", "/logout", "", cookie)
	letsIn(a, cookie, false)
	letsIn(late, cookie, true)
	if all, err = b.Logins(); err != nil {
		t.Fatal(err)
	}
	if err := late.ReceiveLogins(all); err != nil {
		t.Fatal(err)
	}
	letsIn(late, cookie, false)
}

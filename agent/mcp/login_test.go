package mcp_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/agent/mcp"
	"dragoman/agent/mcp/mcptest"
	"dragoman/agent/mcp/oauth"
)

// locked is a server of tools that wants a login.
func locked(t *testing.T) (*mcptest.Login, mcp.Server) {
	t.Helper()
	l := &mcptest.Login{Client: "dragoman", Redirect: "http://127.0.0.1:1/callback", Tools: mcptest.Handler("good")}
	s := httptest.NewServer(l)
	t.Cleanup(s.Close)
	at := s.URL + "/mcp"
	return l, mcp.Server{Name: "tickets", URL: at, OAuth: &oauth.Settings{Server: "tickets", URL: at, ClientID: l.Client, Redirect: l.Redirect}}
}

// logIn logs in as a person with a browser.
func logIn(t *testing.T, p *mcp.Pool) {
	t.Helper()
	link, err := p.BeginLogin(t.Context(), "tickets")
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Get(link.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if err := p.FinishLogin(t.Context(), "tickets", resp.Header.Get("Location")); err != nil {
		t.Fatal(err)
	}
}

const sayLogin = "say dragoman mcp login tickets"

func TestLogin(t *testing.T) {
	t.Parallel()
	l, s := locked(t)
	p := open(t, &notes{}, mcp.Options{}, s)
	if got := offered(t, p); got != "" {
		t.Fatalf("before the login, offered are %q", got)
	}
	if m := p.Missing(t.Context()); len(m) != 1 || m[0].Why != "it needs a login: "+sayLogin {
		t.Fatalf("missing are %+v", m)
	}
	if st := p.Status(t.Context())[0]; st.Login == nil || !strings.Contains(st.Login.Why, sayLogin) || st.Why != st.Login.Why {
		t.Errorf("the status is %+v", st)
	}
	logIn(t, p)
	echo := named(t, p, "tickets__echo")
	works := func() {
		t.Helper()
		if got, err := run(t, echo, `{"text":"tulips"}`); err != nil || !strings.HasSuffix(got, "tulips") {
			t.Fatalf("a call = %q, %v", got, err)
		}
	}
	works()
	if st := p.Status(t.Context())[0]; st.Login == nil || st.Login.Why != "" || st.Why != "" || !st.Login.Renews {
		t.Errorf("the status is %+v", st)
	}
	l.Flaw = "revoked"
	l.EndTokens()
	if _, err := run(t, echo, `{"text":"x"}`); err == nil || !strings.Contains(err.Error(), sayLogin) {
		t.Errorf("without a login: %v", err)
	}
	if _, err := p.Test(t.Context(), "tickets"); err == nil || !strings.Contains(err.Error(), sayLogin) {
		t.Errorf("a test without a login: %v", err)
	}
	l.Flaw = ""
	logIn(t, p)
	works()
	if had, told, err := p.Logout(t.Context(), "tickets"); !had || !told || err != nil {
		t.Errorf("Logout = %t, %t, %v", had, told, err)
	}
	if _, err := run(t, echo, `{"text":"x"}`); err == nil || !strings.Contains(err.Error(), sayLogin) {
		t.Errorf("after a logout: %v", err)
	}
}

// A server that refuses each token says that a login is needed, and tries no more than that.
func TestLoginThatIsRefused(t *testing.T) {
	t.Parallel()
	l, s := locked(t)
	p := open(t, &notes{}, mcp.Options{}, s)
	logIn(t, p)
	l.Flaw = "refuses"
	if _, err := p.Test(t.Context(), "tickets"); err == nil || !strings.Contains(err.Error(), "refuses the token of the login (HTTP 401): "+sayLogin) {
		t.Errorf("Test = %v", err)
	}
	if n := l.Refreshes(); n > 1 {
		t.Errorf("refreshed %d times", n)
	}
}

func TestLoginWithoutOAuth(t *testing.T) {
	t.Parallel()
	p := open(t, &notes{}, mcp.Options{}, scene(t, ""))
	if _, err := p.BeginLogin(t.Context(), "scene"); !errors.Is(err, mcp.ErrNoOAuth) {
		t.Errorf("BeginLogin = %v", err)
	}
	if _, _, err := p.Logout(t.Context(), "other"); !errors.Is(err, mcp.ErrUnknown) {
		t.Errorf("Logout of another server = %v", err)
	}
}

package oauth_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/agent/mcp/mcptest"
	"dragoman/agent/mcp/oauth"
)

// loggedIn is a world with a login that has succeeded.
func loggedIn(t *testing.T, l *mcptest.Login) (*world, *oauth.Login) {
	t.Helper()
	w := newWorld(t, l)
	node := w.node()
	if err := w.login(node); err != nil {
		t.Fatal(err)
	}
	w.works(node)
	return w, node
}

// A token is refreshed before it ends, and only then.
func TestRefreshBeforeTheEnd(t *testing.T) {
	w, l := loggedIn(t, &mcptest.Login{Life: 3600})
	w.now = w.now.Add(58 * time.Minute)
	w.works(l)
	if n := w.Refreshes(); n != 0 {
		t.Errorf("refreshed %d times before it was due", n)
	}
	w.now = w.now.Add(90 * time.Second)
	w.works(l)
	w.works(l)
	if n := w.Refreshes(); n != 1 {
		t.Errorf("refreshed %d times, want once", n)
	}
}

// After a 401 the token is refreshed once, and the request sent again.
func TestRefreshAfterARefusal(t *testing.T) {
	w, l := loggedIn(t, &mcptest.Login{})
	w.now = w.now.Add(time.Minute)
	w.EndTokens()
	w.works(l)
	if n := w.Refreshes(); n != 1 {
		t.Errorf("refreshed %d times, want once", n)
	}
	w.now = w.now.Add(time.Minute)
	w.Flaw = "refuses"
	for range 3 {
		if got, err := w.ask(l); !strings.HasPrefix(got, "401") || err != nil {
			t.Fatalf("a server that refuses each token: %q, %v", got, err)
		}
	}
	if n := w.Refreshes(); n != 2 {
		t.Errorf("refreshed %d times for a server that refuses each token, want once more", n)
	}
	if l.Failure() == nil {
		t.Error("it is no failure")
	}
}

// Many calls on several nodes refresh once: the server ends the login of whoever uses a
// refresh token twice.
func TestOneRefreshAtATime(t *testing.T) {
	w, l := loggedIn(t, &mcptest.Login{Life: 60})
	nodes := []*oauth.Login{l, w.node(), w.node()}
	for _, n := range nodes {
		w.works(n)
	}
	w.now = w.now.Add(2 * time.Minute)
	w.EndTokens()
	var all sync.WaitGroup
	failed := make(chan string, 30)
	for i := range 30 {
		all.Go(func() {
			if got, err := w.ask(nodes[i%3]); got != "200 tools: hello" || err != nil {
				failed <- fmt.Sprint(got, err)
			}
		})
	}
	all.Wait()
	close(failed)
	for why := range failed {
		t.Error(why)
	}
	if n := w.Refreshes(); n != 1 {
		t.Errorf("refreshed %d times, want once", n)
	}
}

// A refused refresh drops the tokens. Another login mends it.
func TestARefusedRefresh(t *testing.T) {
	w, l := loggedIn(t, &mcptest.Login{Life: 60})
	w.Flaw = "revoked"
	w.now = w.now.Add(2 * time.Minute)
	w.needs(l, "the login has ended")
	for _, n := range w.notes.list {
		if strings.Contains(string(n.Data), "refresh-") {
			t.Errorf("kept is %s", n.Data)
		}
	}
	w.Flaw = ""
	if err := w.login(l); err != nil {
		t.Fatal(err)
	}
	w.works(l)
}

// A server that cannot answer costs no login: the token is used as long as it lasts.
func TestARefreshThatFails(t *testing.T) {
	w, l := loggedIn(t, &mcptest.Login{Life: 3600})
	w.Flaw = "down"
	w.now = w.now.Add(59*time.Minute + 30*time.Second)
	w.works(l)
	w.now = w.now.Add(time.Minute)
	if _, err := w.ask(l); err == nil || !strings.Contains(err.Error(), "gives no new one now") {
		t.Errorf("after its end: %v", err)
	}
	w.Flaw = ""
	w.works(l)
}

// A wrong secret in the configuration costs no login.
func TestARefreshWithAWrongSecret(t *testing.T) {
	w, l := loggedIn(t, &mcptest.Login{Life: 60, Secret: "right"})
	w.now = w.now.Add(2 * time.Minute)
	right := w.Secret
	w.Secret = "changed"
	if _, err := w.ask(l); err == nil || !strings.Contains(err.Error(), "does not know us (invalid_client)") {
		t.Errorf("with a wrong secret: %v", err)
	}
	w.Secret = right
	w.works(l)
}

// The tokens of one url are never sent to another.
func TestAnotherURL(t *testing.T) {
	w, l := loggedIn(t, &mcptest.Login{})
	other := newWorld(t, &mcptest.Login{})
	other.notes = w.notes
	other.needs(other.node(), "the login was for another url, client or issuer than the configuration has now")
	c := &http.Client{Transport: l.Over(http.DefaultTransport)}
	if resp, err := c.Get(other.url + "/mcp"); err == nil || resp != nil {
		t.Errorf("a request to another host: %v", resp)
	}
}

// oauth.issuer is the one that is used, and no other.
func TestIssuer(t *testing.T) {
	w := newWorld(t, &mcptest.Login{})
	w.set = func(s *oauth.Settings) { s.Issuer = w.url + "/" }
	if err := w.login(w.node()); err != nil {
		t.Errorf("the right issuer: %v", err)
	}
	w.set = func(s *oauth.Settings) { s.Issuer = "https://bank.example" }
	w.needs(w.node(), "the login was for another url, client or issuer than the configuration has now")
	if err := w.login(w.node()); err == nil || !strings.Contains(err.Error(), "another authorization server") {
		t.Errorf("another issuer: %v", err)
	}
}

func TestLogout(t *testing.T) {
	w, l := loggedIn(t, &mcptest.Login{})
	if had, told, err := l.Logout(t.Context()); !had || !told || err != nil {
		t.Errorf("Logout = %t, %t, %v", had, told, err)
	}
	if n := w.Live(); n != 0 {
		t.Errorf("%d refresh tokens still work", n)
	}
	w.needs(l, "it needs a login")
	if had, _, err := l.Logout(t.Context()); had || err != nil {
		t.Errorf("another Logout = %t, %v", had, err)
	}
}

package console_test

import (
	"fmt"
	"net/http"
	"testing"

	"dragoman/internal/console"
	"dragoman/internal/people"
	"dragoman/internal/testkit"
	"dragoman/internal/web"
	"dragoman/sessions/sqlite/sqlitetest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "correct horse battery staple"

// ask makes a request as it would come from a program on this machine.
var ask = testkit.Local

// chat stands in for the web channel's API.
var chat = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = fmt.Fprintf(w, "chat %s %s", r.Method, r.URL.Path)
})

// open makes a door with the page and this configured token, or none.
func open(t *testing.T, configured string) *web.Door {
	t.Helper()
	return enter(t, "127.0.0.1:8787", configured)
}

// enter makes a door at addr.
func enter(t *testing.T, addr, configured string) *web.Door {
	t.Helper()
	tokens := people.NewTokens(sqlitetest.Open(t, nil), people.Options{Configured: configured})
	door, err := web.New(web.Options{Addr: addr, Token: configured, Tokens: tokens, LoginPage: console.LoginPage})
	if err != nil {
		t.Fatal(err)
	}
	console.Serve(door, chat)
	return door
}

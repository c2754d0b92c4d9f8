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

// entrance is a front door with the page, and the tokens that open it.
type entrance struct {
	*web.Door
	t      *testing.T
	tokens *people.Tokens
}

// newTokens are those of an empty store, and the configured one, if it is not "".
func newTokens(t *testing.T, configured string) *people.Tokens {
	return people.NewTokens(sqlitetest.Open(t, nil), people.Options{Configured: configured})
}

// enter makes a door at addr with the page of o.
func enter(t *testing.T, addr, configured string, tokens *people.Tokens, o console.Options) *entrance {
	t.Helper()
	door, err := web.New(web.Options{
		Addr: addr, Token: configured, Tokens: tokens, Links: people.NewLinks(tokens), LoginPage: console.LoginPage,
	})
	if err != nil {
		t.Fatal(err)
	}
	console.Serve(door, o)
	return &entrance{door, t, tokens}
}

// open makes a door with the page and this configured token, or none.
func open(t *testing.T, configured string, o console.Options) *entrance {
	t.Helper()
	o.Chat = chat
	return enter(t, "127.0.0.1:8787", configured, newTokens(t, configured), o)
}

// admin makes a token that may do everything, and returns the header that shows it.
func (e *entrance) admin() string {
	return "Authorization: Bearer " + e.token("admin", "", people.Admin)
}

// token makes a token and returns its secret.
func (e *entrance) token(name, person string, scope people.Scope) string {
	e.t.Helper()
	_, secret, err := e.tokens.Create(e.t.Context(), people.NewToken{Name: name, Person: person, Scope: scope})
	if err != nil {
		e.t.Fatal(err)
	}
	return secret
}

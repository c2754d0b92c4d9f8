// Package console is the web page: the chat, the channels and the phones that
// they are linked to, its login, and the rule who may use what stands behind
// them.
//
// The promise. The page is whole in itself: embedded files, no build step,
// nothing from other hosts, a content security policy without exceptions, and
// a renderer that builds nodes and never markup. What it protects
// ([Console.Protect]) answers only
//   - without a token: on a loopback address, to requests that name a loopback
//     host and its port (so that a name somebody rebinds to 127.0.0.1 is
//     refused) and do not come from another site;
//   - with a token: to whoever shows it as "Authorization: Bearer", or has
//     logged in with it and got a cookie. The token is never part of a URL.
//
// In both cases a request that a browser sends on behalf of another site is
// refused, and so is one that changes something and cannot show that it was
// not: see [Console.Protect]. Loopback without a token trusts every user and
// program of this machine; where that is too many, set a token.
//
// Failures. Sessions live in memory and in [Options.Sessions]; without that a
// restart asks for the token again.
// Wrong guesses are limited; the right token, and whoever is logged in, is not
// affected. The package starts no goroutines.
package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"
)

//go:embed assets
var assets embed.FS

// loginHTML has two places to fill, see loginPage.
//
//go:embed login.html
var loginHTML string

// ChatPath is where the web channel's API stands.
const ChatPath = "/api/chat"

// minToken is the least length of a token. Shorter ones can be guessed in
// spite of the limit.
const minToken = 16

// Options configure a [Console]. Addr must be set.
type Options struct {
	// Addr is the address that is listened on, with the real port.
	Addr string
	// Token is what visitors must show. It may be empty on loopback only.
	Token string
	// Chat is the web channel's API. Nil: there is no page, only Protect.
	Chat http.Handler
	// Ask answers questions of programs. Nil: nothing does.
	Ask http.Handler
	// Accounts are the channels that the page lists. Nil: it shows none.
	Accounts Accounts
	// LinkWithin is how long the page shows codes for linking before it stops
	// and asks. Default: five minutes.
	LinkWithin time.Duration
	// Proxies are the addresses of proxies whose X-Forwarded-For and -Proto are
	// believed.
	Proxies []netip.Prefix
	// PublicURL is where people open the page, if a proxy has another name than
	// we hear; nil: as they reach us.
	PublicURL *url.URL
	// Sessions keeps logins over a restart. nil: they end with the process.
	Sessions SessionStore
	// Broadcast tells the pages of other nodes who has logged in or out, which they
	// take with [Console.ReceiveLogins]. Nil: there are none.
	Broadcast func(logins []byte) error
	// Failed is told of each wrong token, and whether guesses are refused for a
	// while because of too many; it must not block. nil: nobody is told.
	Failed func(tooMany bool)
	Logger *slog.Logger // nil: discard
}

// Console is the page and the guard.
type Console struct {
	guard guard
	doors *doors
	mux   *http.ServeMux
}

// Validate says why the options cannot be used, or nil.
func Validate(o Options) error {
	host, _, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return fmt.Errorf("console: %q is not an address like 127.0.0.1:8787", o.Addr)
	}
	switch {
	case o.Token != "" && len(o.Token) < minToken:
		return fmt.Errorf("console: the token is too short: use at least %d characters", minToken)
	case o.Token == "" && !isLoopback(host):
		return fmt.Errorf("console: %s can be reached from other machines, so it needs a token; or listen on 127.0.0.1", o.Addr)
	}
	return nil
}

// isLoopback reports whether host is an address of this machine alone.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// New makes the console. It refuses options that would leave the door open.
func New(o Options) (*Console, error) {
	if err := Validate(o); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Failed == nil {
		o.Failed = func(bool) {}
	}
	_, port, _ := net.SplitHostPort(o.Addr)
	c := &Console{
		guard: guard{port: port, open: o.Token == "", front: front{o.Proxies, o.PublicURL}},
		doors: newDoors(o),
		mux:   http.NewServeMux(),
	}
	if o.Chat == nil {
		return c, nil
	}
	c.mux.HandleFunc("GET /{$}", c.serveFile("index.html"))
	c.mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) {
		c.serveFile(r.PathValue("name"))(w, r)
	})
	c.mux.HandleFunc("GET /favicon.ico", c.serveFile("icon.svg"))
	c.mux.HandleFunc("GET /login", c.showLogin)
	c.mux.HandleFunc("POST /login", c.doLogin)
	c.mux.HandleFunc("POST /logout", c.doLogout)
	c.mux.Handle("GET /api/session", c.Protect(http.HandlerFunc(c.session)))
	if o.Accounts != nil {
		c.serveAccounts(o.Accounts, o.LinkWithin)
	}
	if o.Ask != nil {
		c.mux.Handle("POST /api/ask", c.Protect(o.Ask))
	}
	c.mux.Handle(ChatPath+"/", c.Protect(http.StripPrefix(ChatPath, o.Chat)))
	return c, nil
}

// kinds are not the machine's own table, which may say anything.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
	".webmanifest": "application/manifest+json",
}

// ServeHTTP serves the page, the login and the chat's API.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	harden(w.Header())
	if err := c.guard.checkHost(r); err != nil {
		deny(w, r, err)
		return
	}
	c.mux.ServeHTTP(w, r)
}

// harden sets what holds for every answer. Scripts and styles come from our
// own files and from nowhere else, and no other page may hold ours in a frame.
func harden(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; "+
		"img-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; "+
		"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	// Not "no-referrer": under that policy browsers send "Origin: null" with our
	// own login form.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// session tells the page that it is let in, and whether there is a login.
func (c *Console) session(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]bool{"login": !c.guard.open})
}

// serveFile serves one embedded file. The files hold no secret, so nobody has
// to be logged in; that is what lets a link from elsewhere open the page, for
// which browsers do not send our cookie.
func (c *Console) serveFile(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := assets.ReadFile("assets/" + name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		sum := sha256.Sum256(body)
		w.Header().Set("Content-Type", kinds[path.Ext(name)])
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
	}
}

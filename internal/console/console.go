// Package console is the web page (the chat, the channels and linking them to phones),
// its login, and the access control for the API behind it.
//
// The promise. The page is self-contained: embedded files, no build step, nothing from
// other hosts, a content security policy without exceptions, and a renderer that builds
// DOM nodes, never markup. Handlers behind [Console.Protect] serve only
//   - without a token: requests on a loopback address that name a loopback host and
//     our port (which refuses names rebound to 127.0.0.1) and do not come from another
//     site;
//   - with a token: requests that carry it as "Authorization: Bearer" or carry the
//     cookie of a login. The token is never part of a URL.
//
// Requests that a browser sends on behalf of another site are always refused, and so are
// requests that change something without showing that no other site sent them: see
// [Console.Protect]. Loopback without a token trusts every user and program of this
// machine; to restrict them, set a token.
//
// Failures. Sessions live in memory and in [Options.SessionsFile]; without the latter, a
// restart ends all logins. Wrong tokens are rate-limited; the right token and existing
// logins are not affected. The package starts no goroutines.
package console

import (
	"bytes"
	"cmp"
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

	"dragoman/internal/respond"
)

//go:embed assets
var assets embed.FS

// loginHTML has two placeholders, see loginPage.
//
//go:embed login.html
var loginHTML string

// ChatPath is where the web channel's API is mounted.
const ChatPath = "/api/chat"

// minToken is the minimum length of a token. Shorter ones could be guessed in spite of
// the rate limit.
const minToken = 16

// Options configure a [Console]. Addr must be set.
type Options struct {
	// Addr is the address we listen on, with the real port.
	Addr string
	// Token gives access. It may be empty only on loopback.
	Token string
	// Chat is the web channel's API. Nil: there is no page, only Protect.
	Chat http.Handler
	// Ask answers one question of a program. Nil: there is no such API.
	Ask http.Handler
	// Accounts are the channels on the page. Nil: the page shows none.
	Accounts Accounts
	// LinkWithin is how long the page shows codes for linking before it asks
	// whether to continue. Default: five minutes.
	LinkWithin time.Duration
	// Proxies are the addresses of proxies whose X-Forwarded-For and
	// X-Forwarded-Proto we trust.
	Proxies []netip.Prefix
	// PublicURL is the address that people open, if a proxy changes the host name.
	// nil: the one in the request.
	PublicURL *url.URL
	// SessionsFile keeps logins across restarts. "": they end with the
	// process.
	SessionsFile string
	// Broadcast sends logins and logouts to the pages of other nodes, for their
	// [Console.ReceiveLogins]. Nil: there are no other nodes.
	Broadcast func(logins []byte) error
	// Failed is called for each wrong token; tooMany: guesses are being refused for
	// a while. It must not block. nil: not called.
	Failed func(tooMany bool)
	Logger *slog.Logger // nil: discard
}

// Console serves the page and guards the API.
type Console struct {
	guard guard
	auth  *auth
	mux   *http.ServeMux
}

// isLoopback reports whether host is an address of this machine only.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// New makes the console. It refuses options that would give everyone access.
func New(o Options) (*Console, error) {
	host, port, err := net.SplitHostPort(o.Addr)
	switch {
	case err != nil:
		return nil, fmt.Errorf("console: %q is not an address like 127.0.0.1:8787", o.Addr)
	case o.Token != "" && len(o.Token) < minToken:
		return nil, fmt.Errorf("console: the token is too short: use at least %d characters", minToken)
	case o.Token == "" && !isLoopback(host):
		return nil, fmt.Errorf("console: %s can be reached from other machines, so it needs a token; or listen on 127.0.0.1", o.Addr)
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Failed == nil {
		o.Failed = func(bool) {}
	}
	c := &Console{
		guard: guard{port: port, open: o.Token == "", proxies: proxies{o.Proxies, o.PublicURL}},
		auth:  newAuth(o),
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

// kinds are the content types; the machine's own table could contain anything.
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

// harden sets the headers of every response. Scripts and styles load only from our own
// files, and no other page may frame ours.
func harden(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; "+
		"img-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; "+
		"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	// Not "no-referrer", which makes browsers send "Origin: null" with our login form.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// session tells the page that it has access, and whether there is a login.
func (c *Console) session(w http.ResponseWriter, _ *http.Request) {
	respond.JSON(w, http.StatusOK, map[string]bool{"login": !c.guard.open})
}

// serveFile serves one embedded file. The files are public: they hold no secret, and a
// link from another site can open the page, for which browsers do not send our cookie.
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

package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"dragoman/internal/people"
	"dragoman/internal/respond"
)

// minToken is the minimum length of the configured token. Shorter ones could be guessed
// in spite of the limit on failures.
const minToken = 16

// Tokens say who shows a token: [people.Tokens].
type Tokens interface {
	// Authenticate returns whose token this is. Errors that concern the token are
	// those of people; any other says that the store cannot be asked.
	Authenticate(ctx context.Context, secret string) (people.Principal, error)
	// Valid reports whether the token that let p in is still good.
	Valid(ctx context.Context, p people.Principal) error
	// Any reports whether there is a good token that somebody made or configured.
	Any(ctx context.Context) (bool, error)
}

// Links are the one-time links of `dragoman console`: [people.Links].
type Links interface {
	// Redeem uses a link up and returns who may come in. Errors: people.ErrUsedLink.
	Redeem(ctx context.Context, secret string) (people.Principal, error)
	// End ends what a link began; for any other principal it does nothing.
	End(ctx context.Context, p people.Principal) error
}

// Options configure a [Door]. Addr and Tokens must be set.
type Options struct {
	// Addr is the address we listen on, with the real port.
	Addr string
	// Token is the configured one, which Tokens knows too. The names of sessions depend
	// on it, so that a new one ends them. It may be empty only on loopback.
	Token  string
	Tokens Tokens
	// Links is nil if there are none.
	Links Links
	// Proxies are the addresses of proxies whose X-Forwarded-For, X-Forwarded-Proto
	// and identity header we believe.
	Proxies  []netip.Prefix
	Identity Identity
	// PublicURL is the address that people open, if a proxy changes the host name.
	// nil: the one in the request.
	PublicURL *url.URL
	// LoginPage is the HTML of the login, with what was wrong with the last attempt, or
	// "". It must escape the words. Nil: there is no page, and so no login.
	LoginPage func(problem string) string
	// SessionsFile keeps sessions across restarts. "": they end with the process.
	SessionsFile string
	// Broadcast sends logins and logouts to the doors of other nodes, for their
	// [Door.ReceiveLogins]. Nil: there are no other nodes.
	Broadcast func(logins []byte) error
	// Failed is called for each wrong token; tooMany: those of that address are being
	// refused for a while. It must not block. nil: not called.
	Failed func(tooMany bool)
	// Served hears of each request: its route, "" for a path that has none, and the
	// status code. It must not block. Nil: not called.
	Served func(route string, code int)
	Logger *slog.Logger // nil: discard
}

// Door serves the port. Add routes with Public, Protect and Probes, then serve it.
type Door struct {
	opts Options
	port string
	// reachable: other machines can reach the port.
	reachable bool
	proxies   proxies
	identity  identity
	sessions  *sessions
	guesses   guesses
	visits    visits
	mux       *http.ServeMux
	routes    []Route
}

// Route is what a path at the port needs. An empty Scope without Secret: strangers may see
// it, too.
type Route struct {
	Pattern string // as http.ServeMux has it
	Scope   people.Scope
	Secret  bool // one of its own: see [Door.Called] and [Door.Open]
}

// Routes are all routes, in the order in which they were added.
func (d *Door) Routes() []Route { return slices.Clone(d.routes) }

// New makes a door. On an address that other machines can reach it lets nobody in who shows
// nothing, whether there are tokens or not.
func New(o Options) (*Door, error) {
	host, port, err := net.SplitHostPort(o.Addr)
	switch {
	case err != nil:
		return nil, fmt.Errorf("web: %q is not an address like 127.0.0.1:8787", o.Addr)
	case o.Token != "" && len(o.Token) < minToken:
		return nil, fmt.Errorf("web: the token is too short: use at least %d characters", minToken)
	case o.Tokens == nil:
		return nil, errors.New("web: new: Options.Tokens is missing")
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Failed == nil {
		o.Failed = func(bool) {}
	}
	if o.Served == nil {
		o.Served = func(string, int) {}
	}
	d := &Door{
		opts: o, port: port, reachable: !isLoopback(host), proxies: proxies{o.Proxies, o.PublicURL}, sessions: newSessions(o),
		visits: visits{open: map[*visit]struct{}{}}, guesses: guesses{of: map[netip.Addr]*limit{}}, mux: http.NewServeMux(),
	}
	d.identity = newIdentity(o.Identity, &d.proxies)
	if o.LoginPage != nil {
		d.Public("GET /login", http.HandlerFunc(d.showLogin))
		d.Public("POST /login", http.HandlerFunc(d.login))
		d.Public("POST /login/link", http.HandlerFunc(d.loginByLink))
		d.Public("POST /logout", http.HandlerFunc(d.logout))
	}
	d.Protect("GET /api/session", people.Chat, http.HandlerFunc(d.session))
	return d, nil
}

// Public serves what strangers may see, too. An open port serves it only to requests
// that it would let in.
func (d *Door) Public(pattern string, next http.Handler) {
	d.routes = append(d.routes, Route{Pattern: pattern})
	d.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := d.checkPublic(r); err != nil {
			deny(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Protect serves requests of those who have the scope. The request's context carries the
// principal, and ends when their token does. See the package comment for the rules.
func (d *Door) Protect(pattern string, scope people.Scope, next http.Handler) {
	d.routes = append(d.routes, Route{Pattern: pattern, Scope: scope})
	d.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		c, err := d.admit(r, scope)
		if err != nil {
			deny(w, r, err)
			return
		}
		d.identity.strip(r.Header)
		ctx, end := d.visits.begin(people.With(r.Context(), c.Principal), c)
		defer end()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Called serves requests of a program that shows a secret of its own in their header, and
// knows no token: a network that calls. Whoever authentic recognises comes in, from
// anywhere, also to an open port, and is no principal. A wrong secret counts as a wrong
// token does, and a body of more than most bytes is refused.
func (d *Door) Called(pattern string, authentic func(http.Header) bool, most int64, next http.Handler) {
	d.routes = append(d.routes, Route{Pattern: pattern, Secret: true})
	d.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		err := d.checkSite(r)
		if err == nil && !authentic(r.Header) {
			err = d.countFailure(r, unauthorized("That is not the secret."))
		}
		if err == nil && r.ContentLength > most {
			err = &respond.Refusal{Status: http.StatusRequestEntityTooLarge, Sentence: "The body is too long."}
		}
		if err != nil {
			deny(w, r, err)
			return
		}
		d.identity.strip(r.Header)
		r.Body = http.MaxBytesReader(w, r.Body, most)
		next.ServeHTTP(w, r)
	})
}

// Open serves requests whose handler alone decides who may send them, by a secret of its
// own: nobody is in their context, and neither cookies nor tokens of ours count. Their
// RemoteAddr is the address that they come from, also behind a proxy that we trust.
func (d *Door) Open(pattern string, next http.Handler) {
	d.routes = append(d.routes, Route{Pattern: pattern, Secret: true})
	d.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		d.identity.strip(r.Header)
		own := r.Clone(r.Context())
		own.RemoteAddr = d.proxies.client(r).String()
		next.ServeHTTP(w, own)
	})
}

// Probes serves /healthz and /readyz to everybody, whatever host they name: load
// balancers have no token.
func (d *Door) Probes(o ProbeOptions) {
	o.Knows = func(r *http.Request) bool {
		_, err := d.admit(r, people.Read)
		return err == nil
	}
	h := Probes(o)
	for _, pattern := range []string{"/healthz", "/readyz"} {
		d.routes = append(d.routes, Route{Pattern: pattern})
		d.mux.Handle(pattern, h)
	}
}

// ServeHTTP serves the port.
func (d *Door) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w := respond.Watch(to)
	defer func() { d.opts.Served(r.Pattern, w.Code()) }()
	harden(w.Header())
	if d.isPlain(r) {
		w.Header().Del("Cross-Origin-Opener-Policy")
	}
	missing := respond.Missing(d.mux, r)
	if missing == nil {
		d.mux.ServeHTTP(w, r)
		return
	}
	err := d.checkPublic(r)
	if isAPI(r.URL.Path) {
		_, err = d.admit(r, people.Chat)
	}
	if err == nil {
		err = missing
	}
	deny(w, r, err)
}

// isAPI reports whether programs, not browsers, go to a path. What is missing there is
// said to nobody who is not logged in.
func isAPI(path string) bool {
	return strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/v1/") || path == "/api" || path == "/v1"
}

// deny refuses a request: in JSON, or in plain text for browsers.
func deny(w http.ResponseWriter, r *http.Request, err error) {
	var no *respond.Refusal
	if !errors.As(err, &no) || isAPI(r.URL.Path) || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		respond.Refuse(w, err)
		return
	}
	respond.Head(w, no)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(no.Status)
	_, _ = fmt.Fprintln(w, no.Sentence) // the browser notices a broken connection
}

// harden sets the headers of every response. Scripts and styles load only from our own
// files, pictures and sound also from what the page itself holds (blob:). No other page may
// frame ours, and nothing is kept in caches: a handler that wants something else says so.
func harden(h http.Header) {
	respond.Private(h)
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; "+
		"img-src 'self' blob:; media-src 'self' blob:; connect-src 'self'; manifest-src 'self'; form-action 'self'; "+
		"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("X-Frame-Options", "DENY")
	// Not "no-referrer", which makes browsers send "Origin: null" with our login form.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// isPlain reports whether r surely came over http under a name that is not loopback. Browsers
// ignore Cross-Origin-Opener-Policy there, and say so in their console for every page.
func (d *Door) isPlain(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	return !isLoopback(host) && !d.proxies.isSecure(r) && !d.isForwarded(r)
}

// session tells the page who it is, and whether there is a session to end.
func (d *Door) session(w http.ResponseWriter, r *http.Request) {
	p, _ := people.From(r.Context())
	_, found := d.sessions.find(r)
	respond.JSON(w, http.StatusOK, struct {
		Login  bool         `json:"login"`
		Person string       `json:"person"`
		Name   string       `json:"name"`
		Scope  people.Scope `json:"scope"`
		Token  string       `json:"token,omitempty"`
	}{found, p.ID, p.Name, p.Scope, p.Token})
}

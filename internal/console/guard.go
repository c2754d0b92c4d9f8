package console

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// ProofHeader is what a program without an Origin sends (with any value) to
// show that no browser was made to send the request: pages of other sites
// cannot set it without asking us first, and we always say no.
const ProofHeader = "X-Dragoman"

// guard decides from the headers alone whether a request may come from where
// it comes from.
type guard struct {
	port string
	open bool // no token is asked for
	front
}

// denial is a refusal: a status and a sentence.
type denial struct {
	status   int
	sentence string
}

func (e *denial) Error() string { return e.sentence }

var (
	errHost = &denial{http.StatusForbidden, "Dragoman does not answer under this name. Open it as http://127.0.0.1 or http://localhost with its own port, or set a token."}
	errFar  = &denial{http.StatusForbidden, "Without a token Dragoman answers on this machine only."}
	errSite = &denial{http.StatusForbidden, "This request comes from another site."}
	errWho  = &denial{http.StatusForbidden, "This request does not say where it comes from. A program sends the header " + ProofHeader + ": 1."}
	errAuth = &denial{http.StatusUnauthorized, "Log in first, or send the token as Authorization: Bearer."}
	errSlow = &denial{http.StatusTooManyRequests, "Too many wrong tokens. Wait a minute."}
)

// checkHost refuses, while no token is asked for, names that are not this
// machine's: a page whose name its owner points at 127.0.0.1 would count as
// the same origin otherwise.
func (g *guard) checkHost(r *http.Request) error {
	if !g.open {
		return nil
	}
	// A proxy on this machine would let in whoever reaches it, and some rewrite
	// Host to our own name.
	if remote, _, err := net.SplitHostPort(r.RemoteAddr); err != nil || !isLoopback(remote) || forwarded(r) {
		return errFar
	}
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil { // no port: 80 is meant
		host, port = strings.Trim(r.Host, "[]"), "80"
	}
	if !isLoopback(host) || port != g.port {
		return errHost
	}
	return nil
}

// checkSite refuses what a browser sends on behalf of another site.
func (g *guard) checkSite(r *http.Request) error {
	if o := r.Header.Get("Origin"); o != "" {
		u, err := url.Parse(o)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || !g.ours(u.Host, r) {
			return errSite
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin":
		return nil
	case "none": // typed into the address bar
		if safe(r.Method) {
			return nil
		}
	}
	return errSite
}

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// proven reports whether a request that changes something shows that no other
// site's page is behind it. checkSite has passed.
func proven(r *http.Request) bool {
	return safe(r.Method) || r.Header.Get("Origin") != "" ||
		r.Header.Get("Sec-Fetch-Site") == "same-origin" || r.Header.Get(ProofHeader) != ""
}

// Protect lets through to next who may use it:
//
//  1. the host must be ours (without a token: a loopback name and our port);
//  2. Origin and Sec-Fetch-Site, where sent, must say "the same origin";
//  3. with a token: a valid bearer token or session cookie;
//  4. a request that changes something must have come with one of Origin,
//     Sec-Fetch-Site, the header X-Dragoman, or a valid bearer token. So
//     plain curl reads on loopback, and writes with -H "X-Dragoman: 1".
func (c *Console) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearer, err := c.admit(r)
		if err == nil && !bearer && !proven(r) {
			err = errWho
		}
		if err != nil {
			deny(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Knows reports whether r may read what Protect guards.
func (c *Console) Knows(r *http.Request) bool {
	_, err := c.admit(r)
	return err == nil
}

// admit is rules 1 to 3. bearer: it was the token itself that was shown.
func (c *Console) admit(r *http.Request) (bearer bool, err error) {
	if err := c.guard.checkHost(r); err != nil {
		return false, err
	}
	if err := c.guard.checkSite(r); err != nil {
		return false, err
	}
	if c.guard.open {
		return false, nil
	}
	if cookie, err := r.Cookie(cookieName); err == nil && c.doors.known(cookie.Value) {
		return false, nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false, errAuth
	}
	return true, c.doors.try(token, c.guard.client(r))
}

// deny answers with a sentence: JSON below /api/ and for programs, a line of
// text for people.
func deny(w http.ResponseWriter, r *http.Request, err error) {
	no := &denial{http.StatusForbidden, "This is not allowed."}
	errors.As(err, &no)
	if no.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="dragoman"`)
	}
	if no.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "60")
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		answer(w, no.status, map[string]string{"error": no.sentence})
		return
	}
	private(w)
	http.Error(w, no.sentence, no.status)
}

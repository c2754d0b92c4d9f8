package console

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"dragoman/internal/respond"
)

// ProofHeader is what a program without an Origin sends, with any value, to show that no
// browser was made to send the request: pages of other sites cannot set it without a
// preflight request, which we always refuse.
const ProofHeader = "X-Dragoman"

// guard decides by the headers alone whether a request may come from its source.
type guard struct {
	port string
	open bool // no token is required
	proxies
}

var (
	errHost    = &respond.Refusal{Status: http.StatusForbidden, Sentence: "Dragoman does not answer under this name. Open it as http://127.0.0.1 or http://localhost with its own port, or set a token."}
	errRemote  = &respond.Refusal{Status: http.StatusForbidden, Sentence: "Without a token Dragoman answers on this machine only."}
	errSite    = &respond.Refusal{Status: http.StatusForbidden, Sentence: "This request comes from another site."}
	errNoProof = &respond.Refusal{Status: http.StatusForbidden, Sentence: "This request does not say where it comes from. Programs must send the header " + ProofHeader + ": 1."}
	errAuth    = &respond.Refusal{Status: http.StatusUnauthorized, Sentence: "Log in first, or send the token as Authorization: Bearer."}
	errSlow    = &respond.Refusal{Status: http.StatusTooManyRequests, Sentence: "Too many wrong tokens. Wait a minute."}
)

// checkHost refuses, if no token is required, host names other than this machine's. A
// page under a name that its owner points at 127.0.0.1 would otherwise have our origin.
func (g *guard) checkHost(r *http.Request) error {
	if !g.open {
		return nil
	}
	// A proxy on this machine would give access to everyone who reaches it, and some
	// rewrite Host to our name.
	if remote, _, err := net.SplitHostPort(r.RemoteAddr); err != nil || !isLoopback(remote) || forwarded(r) {
		return errRemote
	}
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil { // no port means 80
		host, port = strings.Trim(r.Host, "[]"), "80"
	}
	if !isLoopback(host) || port != g.port {
		return errHost
	}
	return nil
}

// checkSite refuses requests that a browser sends on behalf of another site.
func (g *guard) checkSite(r *http.Request) error {
	if o := r.Header.Get("Origin"); o != "" {
		u, err := url.Parse(o)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || !g.isOurHost(u.Host, r) {
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

// hasProof reports whether r cannot have been sent by another site's page, or changes
// nothing. checkSite has passed.
func hasProof(r *http.Request) bool {
	return safe(r.Method) || r.Header.Get("Origin") != "" ||
		r.Header.Get("Sec-Fetch-Site") == "same-origin" || r.Header.Get(ProofHeader) != ""
}

// Protect calls next for requests that pass these rules:
//
//  1. the host must be ours (without a token: a loopback name and our port);
//  2. Origin and Sec-Fetch-Site, if sent, must say "the same origin";
//  3. with a token: a valid bearer token or session cookie;
//  4. a request that changes something must have one of Origin, Sec-Fetch-Site, the
//     header X-Dragoman, or a valid bearer token. So plain curl can read on loopback,
//     and write with -H "X-Dragoman: 1".
func (c *Console) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearer, err := c.admit(r)
		if err == nil && !bearer && !hasProof(r) {
			err = errNoProof
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

// admit checks rules 1 to 3. bearer: the request carried the token itself.
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
	if cookie, err := r.Cookie(cookieName); err == nil && c.auth.loggedIn(cookie.Value) {
		return false, nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false, errAuth
	}
	return true, c.auth.checkToken(token, c.guard.client(r))
}

// deny refuses a request with a sentence: as JSON, or as plain text for browsers.
func deny(w http.ResponseWriter, r *http.Request, err error) {
	var no *respond.Refusal
	if errors.As(err, &no) && strings.Contains(r.Header.Get("Accept"), "text/html") {
		respond.Private(w.Header())
		http.Error(w, no.Sentence, no.Status)
		return
	}
	respond.Refuse(w, err)
}

// proxies describes the proxies between browsers and us: those we trust, and the address
// under which people open the page.
type proxies struct {
	trusted []netip.Prefix
	public  *url.URL // nil: not configured
}

func (p *proxies) isTrusted(addr netip.Addr) bool {
	return slices.ContainsFunc(p.trusted, func(net netip.Prefix) bool { return net.Contains(addr) })
}

// client is the address that r comes from. Behind trusted proxies it is the last address in
// X-Forwarded-For that is not one of theirs; anyone can have written those before it. The
// zero address means that it cannot be read.
func (p *proxies) client(r *http.Request) netip.Addr {
	addr := parseAddr(r.RemoteAddr)
	if !p.isTrusted(addr) {
		return addr
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		next := parseAddr(strings.TrimSpace(hop))
		if !next.IsValid() {
			break
		}
		addr = next
		if !p.isTrusted(addr) {
			break
		}
	}
	return addr
}

// parseAddr accepts an address with or without a port. It returns the zero Addr,
// which no list has, if it is neither.
func parseAddr(s string) netip.Addr {
	if p, err := netip.ParseAddrPort(s); err == nil {
		return p.Addr().Unmap().WithZone("")
	}
	a, _ := netip.ParseAddr(strings.Trim(s, "[]"))
	return a.Unmap().WithZone("")
}

// secure reports whether the browser uses TLS, to us or to a proxy.
func (p *proxies) secure(r *http.Request) bool {
	if r.TLS != nil || p.public != nil && p.public.Scheme == "https" {
		return true
	}
	return p.isTrusted(parseAddr(r.RemoteAddr)) && r.Header.Get("X-Forwarded-Proto") == "https"
}

// isOurHost reports whether host, from an Origin, is the page's: the host of the request,
// or the configured public one.
func (p *proxies) isOurHost(host string, r *http.Request) bool {
	return strings.EqualFold(host, r.Host) || p.public != nil && strings.EqualFold(host, p.public.Host)
}

// forwarded reports whether a proxy sent r on behalf of somebody else. Then the
// peer's address says nothing about who asks.
func forwarded(r *http.Request) bool {
	return r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "" || r.Header.Get("Via") != ""
}

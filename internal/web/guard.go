package web

import (
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

// forbidden is a refusal that no login mends.
func forbidden(sentence string) *respond.Refusal {
	return &respond.Refusal{Status: http.StatusForbidden, Sentence: sentence}
}

var (
	errHost    = forbidden("Dragoman does not answer under this name. Open it as http://127.0.0.1 or http://localhost with its own port, or set a token.")
	errRemote  = forbidden("Without a token Dragoman answers on this machine only.")
	errSite    = forbidden("This request comes from another site.")
	errNoProof = forbidden("This request does not say where it comes from. Programs must send the header " + ProofHeader + ": 1.")
)

// isLoopback reports whether host is an address of this machine only.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// checkLocal refuses, at an open port, whatever does not come from this machine or names
// another host. A page under a name that its owner points at 127.0.0.1 would otherwise
// have our origin.
func (d *Door) checkLocal(r *http.Request) error {
	// A proxy on this machine would give access to everyone who reaches it, and some
	// rewrite Host to our name.
	remote, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !isLoopback(remote) || d.isForwarded(r) {
		return errRemote
	}
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil { // no port means 80
		host = strings.Trim(r.Host, "[]")
		port = "80"
	}
	if !isLoopback(host) || port != d.port {
		return errHost
	}
	return nil
}

// forwardingHeaders are what proxies add to a request, besides those that begin with
// X-Forwarded. One is enough to show that it does not come from this machine.
var forwardingHeaders = []string{
	"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Forwarded-For", "X-Original-Host",
	"X-Original-Url", "X-Original-Uri", "X-Original-Method", "X-Original-Remote-Addr", "X-Rewrite-Url", "X-Envoy-External-Address",
	"X-Proxyuser-Ip", "X-Remote-Ip", "X-Remote-Addr", "X-Request-Uri", "True-Client-Ip", "Client-Ip", "Cf-Connecting-Ip", "Cf-Ray",
	"Fastly-Client-Ip", "Fly-Client-Ip", "Remote-User", "Tailscale-User-Login", "X-Azure-Clientip",
}

// isForwarded reports whether a proxy has passed r on.
func (d *Door) isForwarded(r *http.Request) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded") || slices.Contains(forwardingHeaders, name) {
			return true
		}
	}
	return d.proxies.isTrusted(parseAddr(r.RemoteAddr))
}

// checkSite refuses requests that a browser sends on behalf of another site.
func (d *Door) checkSite(r *http.Request) error {
	for _, o := range r.Header.Values("Origin") {
		u, err := url.Parse(o)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || !d.proxies.isOurHost(u.Host, r) {
			return errSite
		}
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		typed := site == "none" && isSafe(r.Method) // into the address bar
		if site != "same-origin" && !typed {
			return errSite
		}
	}
	return nil
}

// isSafe reports whether requests with a method change nothing.
func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// hasProof reports whether r cannot have been sent by another site's page, or changes
// nothing. checkSite has passed.
func hasProof(r *http.Request) bool {
	return isSafe(r.Method) || r.Header.Get("Origin") != "" ||
		r.Header.Get("Sec-Fetch-Site") == "same-origin" || r.Header.Get(ProofHeader) != ""
}

// checkOwnForm refuses a form that no page of ours sent.
func (d *Door) checkOwnForm(r *http.Request) error {
	if err := d.checkSite(r); err != nil {
		return err
	}
	if !hasProof(r) {
		return errNoProof
	}
	return nil
}

// proxies describes the proxies between browsers and us: those we trust, and the address
// under which people open the page.
type proxies struct {
	trusted []netip.Prefix
	public  *url.URL // nil: not configured
}

// isTrusted reports whether addr is a proxy's.
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

// parseAddr reads an address with or without a port.
func parseAddr(s string) netip.Addr {
	if p, err := netip.ParseAddrPort(s); err == nil {
		return p.Addr().Unmap().WithZone("")
	}
	a, _ := netip.ParseAddr(strings.Trim(s, "[]"))
	return a.Unmap().WithZone("")
}

// isSecure reports whether the browser uses TLS, to us or to a proxy.
func (p *proxies) isSecure(r *http.Request) bool {
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

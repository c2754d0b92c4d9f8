package console

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// proxies describes the proxies between browsers and us: those we trust, and the address
// under which people open the page.
type proxies struct {
	trusted []netip.Prefix
	public  *url.URL // nil: not configured
}

// isTrusted reports whether addr belongs to a trusted proxy.
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
		if addr = next; !p.isTrusted(addr) {
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

// forwarded reports whether a proxy sent r on behalf of someone else.
func forwarded(r *http.Request) bool {
	return r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "" || r.Header.Get("Via") != ""
}

package console

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// front is what stands between browsers and us: proxies that we believe, and
// the address under which people know the page.
type front struct {
	proxies []netip.Prefix
	public  *url.URL // nil: none is configured
}

// believes reports whether addr is a proxy's that says who is behind it.
func (f *front) believes(addr netip.Addr) bool {
	return slices.ContainsFunc(f.proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// client is the address that r comes from: behind proxies that we believe, the
// last one in X-Forwarded-For that is none of them. Whatever stands before that
// anybody can have written. The zero address is one that cannot be read.
func (f *front) client(r *http.Request) netip.Addr {
	addr := parseAddr(r.RemoteAddr)
	if !f.believes(addr) {
		return addr
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		next := parseAddr(strings.TrimSpace(hop))
		if !next.IsValid() {
			break
		}
		if addr = next; !f.believes(addr) {
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

// secure reports whether the browser speaks TLS, to us or to a proxy.
func (f *front) secure(r *http.Request) bool {
	if r.TLS != nil || f.public != nil && f.public.Scheme == "https" {
		return true
	}
	return f.believes(parseAddr(r.RemoteAddr)) && r.Header.Get("X-Forwarded-Proto") == "https"
}

// ours reports whether host, of an Origin, is the page's: the name that the
// request was sent to, or the one that people know.
func (f *front) ours(host string, r *http.Request) bool {
	return strings.EqualFold(host, r.Host) || f.public != nil && strings.EqualFold(host, f.public.Host)
}

// forwarded reports whether a proxy says that it sends r for somebody else.
func forwarded(r *http.Request) bool {
	return r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "" || r.Header.Get("Via") != ""
}

package tools

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
)

// special4 are the IPv4 ranges that are not the public internet: IANA's
// special-purpose registry, multicast, the reserved rest, and one public address
// where a cloud serves its machines' secrets.
var special4 = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // carrier-grade NAT; a cloud's metadata at 100.100.100.200
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // Azure's WireServer
	"169.254.0.0/16",   // link-local, most clouds' metadata
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments
	"192.0.2.0/24",     // documentation
	"192.31.196.0/24",  // AS112
	"192.52.193.0/24",  // AMT
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"192.175.48.0/24",  // AS112
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, and broadcast
)

// global6 is the only IPv6 range assigned as global unicast. Everything outside of it
// (loopback, mapped and translated IPv4, unique local, link-local, multicast,
// unassigned) is refused without a list.
var global6 = netip.MustParsePrefix("2000::/3")

// special6 are the parts of global6 that are not the public internet.
var special6 = prefixes(
	"2001::/23",         // protocol assignments: Teredo, ORCHID, benchmarks
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4: wraps any IPv4 address
	"2620:4f:8000::/48", // AS112
	"3fff::/20",         // documentation
)

func prefixes(all ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range all {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// checkAddr refuses every address that is not clearly on the public internet.
func checkAddr(addr netip.Addr) error {
	switch {
	case !addr.IsValid():
		return errors.New("not an address")
	case addr.Zone() != "":
		return errors.New("an address with a zone is not on the public internet")
	}
	addr = addr.Unmap() // ::ffff:127.0.0.1 connects to 127.0.0.1
	holds := func(p netip.Prefix) bool { return p.Contains(addr) }
	if addr.Is4() && !slices.ContainsFunc(special4, holds) {
		return nil
	}
	if addr.Is6() && global6.Contains(addr) && !slices.ContainsFunc(special6, holds) && !isISATAP(addr) {
		return nil
	}
	return fmt.Errorf("%s is not on the public internet", addr)
}

// isISATAP reports whether addr contains an IPv4 address in its interface identifier
// (RFC 5214). A tunnel would deliver to it.
func isISATAP(addr netip.Addr) bool {
	b := addr.As16()
	return (b[8] == 0x00 || b[8] == 0x02) && b[9] == 0x00 && b[10] == 0x5e && b[11] == 0xfe
}

// refused is the error of the guard. [fetchFailed] passes it on unchanged, because
// its text names nothing that the model may not know.
type refused struct{ why error }

func (r *refused) Error() string { return "not allowed: " + r.why.Error() }

func refusef(format string, args ...any) error {
	return &refused{fmt.Errorf(format, args...)}
}

// checkTarget accepts or refuses the address that a socket is about to connect to. No
// spelling, redirect or second DNS answer can bypass this check.
func checkTarget(target netip.AddrPort) error {
	if err := checkAddr(target.Addr()); err != nil {
		return &refused{err}
	}
	if port := target.Port(); port != 80 && port != 443 {
		return refusef("port %d", port)
	}
	return nil
}

// Public is that check, for requests to other addresses that a stranger names.
func Public(target netip.AddrPort) error { return checkTarget(target) }

// checkURL refuses URLs that are not web addresses. Where they lead is checked later:
// see [checkTarget].
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return refusef("the address must begin with http:// or https://")
	case u.Opaque != "":
		return refusef("%s: is not followed by //", u.Scheme)
	case u.User != nil:
		return refusef("a user name or password in the address")
	case u.Hostname() == "":
		return refusef("the address has no host")
	}
	return nil
}

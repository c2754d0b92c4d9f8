package tools

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/net/idna"
)

// guard decides what web_fetch may talk to.
//
// There are two checks. checkURL reads the address as it is written and gives
// clear words early. control runs when a socket is about to connect, on the
// address that the name was resolved to, and is the one that counts: no
// spelling, redirect or second DNS answer gets past it.
type guard struct {
	ports    []uint16
	loopback *exemption
}

// exemption lets one test fetch from its own servers on loopback. Only tests can
// make one, so no line of a configuration can ask for it.
type exemption struct {
	servers []netip.AddrPort
	running func() bool // the test
}

// covers reports whether e lets target pass.
func (e *exemption) covers(target netip.AddrPort) bool {
	return e != nil && e.running() && slices.Contains(e.servers, target)
}

// onPort reports whether one of the servers of e has this port.
func (e *exemption) onPort(port uint16) bool {
	return e != nil && slices.ContainsFunc(e.servers, func(s netip.AddrPort) bool { return s.Port() == port })
}

// special4 are the IPv4 ranges that are not the public internet: IANA's
// special-purpose registry, multicast, the reserved rest, and one public
// address at which a cloud serves its machines' secrets.
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

// global6 is the only IPv6 range that is given out as global unicast. What
// lies outside of it (loopback, mapped and translated IPv4, unique local,
// link-local, multicast, what nobody uses yet) is refused without a list.
var global6 = netip.MustParsePrefix("2000::/3")

// special6 are the parts of global6 that are not the public internet.
var special6 = prefixes(
	"2001::/23",         // protocol assignments: Teredo, ORCHID, benchmarks
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4: any IPv4 address in disguise
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

// checkAddr refuses every address that is not plainly on the public internet.
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

// isISATAP reports whether addr carries an IPv4 address in its interface
// identifier (RFC 5214), to which a tunnel would deliver.
func isISATAP(addr netip.Addr) bool {
	b := addr.As16()
	return (b[8] == 0x00 || b[8] == 0x02) && b[9] == 0x00 && b[10] == 0x5e && b[11] == 0xfe
}

// refused marks what the guard does not let through.
type refused struct{ why error }

func (r *refused) Error() string { return "not allowed: " + r.why.Error() }

func refusef(format string, args ...any) error {
	return &refused{fmt.Errorf(format, args...)}
}

// control is the hook of [net.Dialer]: address is what the kernel is about to
// connect to.
func (g *guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return refusef("network %s", network)
	}
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return refusef("%q is not an address", address)
	}
	return g.checkTarget(target)
}

// checkTarget decides on a resolved address.
func (g *guard) checkTarget(target netip.AddrPort) error {
	if g.loopback.covers(target) {
		return nil
	}
	if err := checkAddr(target.Addr()); err != nil {
		return &refused{err}
	}
	if !slices.Contains(g.ports, target.Port()) {
		return refusef("port %d", target.Port())
	}
	return nil
}

// checkURL reads a URL as written, for the first request and every redirect.
func (g *guard) checkURL(u *url.URL) error {
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
	port, err := portOf(u)
	if err != nil {
		return err
	}
	addr, literal, err := checkHost(u.Hostname())
	if err != nil {
		return err
	}
	if literal {
		return g.checkTarget(netip.AddrPortFrom(addr, port))
	}
	if !slices.Contains(g.ports, port) && !g.loopback.onPort(port) {
		return refusef("port %d", port)
	}
	return nil
}

// portOf is the port that u means.
func portOf(u *url.URL) (uint16, error) {
	text := u.Port()
	switch {
	case text == "" && strings.HasSuffix(u.Host, ":"):
		return 0, refusef("the port is missing after the colon")
	case text == "" && u.Scheme == "https":
		return 443, nil
	case text == "":
		return 80, nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, refusef("port %.20q", text)
	}
	return uint16(port), nil
}

// checkHost reports whether host is an address rather than a name. Names that
// some program somewhere reads as an address (2130706433, 0x7f.1, 127.1, and
// the same in circled digits) are refused.
func checkHost(host string) (addr netip.Addr, literal bool, err error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr, true, nil
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		// Underscores and the like are odd but real; anything else that is not
		// ASCII has no meaning as a name.
		if !isPlainName(host) {
			return netip.Addr{}, false, refusef("%.80q is not a host name", host)
		}
		ascii = host
	}
	if addr, err := netip.ParseAddr(ascii); err == nil {
		return addr, true, nil
	}
	labels := strings.Split(strings.TrimSuffix(ascii, "."), ".")
	if last := labels[len(labels)-1]; last == "" || looksNumeric(last) {
		return netip.Addr{}, false, refusef("%.80q is an unusual spelling of an address", host)
	}
	return netip.Addr{}, false, nil
}

// looksNumeric reports whether a label would be read as a number: decimal,
// octal or hexadecimal.
func looksNumeric(label string) bool {
	if digits, found := strings.CutPrefix(strings.ToLower(label), "0x"); found {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// isPlainName reports whether host has only letters, digits and - _ . in it.
func isPlainName(host string) bool {
	return strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

package setting

import (
	"net"
	"net/netip"
	"strconv"

	"dragoman/internal/lazily"
)

// Form returns what is wrong with a text, and what to write instead; what is "" if
// nothing is. A message may show the text in the place of "%s".
type Form func(text string) (what, want string)

// Must is a form of the texts for which ok returns true.
func Must(ok func(text string) bool, what, want string) Form {
	return func(text string) (string, string) {
		if ok(text) {
			return "", ""
		}
		return what, want
	}
}

// Like is a form of the texts that have a match of a regular expression, which is
// compiled on first use. It panics then if the expression is invalid.
func Like(expression, what, want string) Form {
	return Must(lazily.Compile(expression).Matches, what, want)
}

// HostPort takes "host:port" apart. ok is false unless the port is a number that a port
// can be; the host may be empty.
func HostPort(address string) (host string, port int, ok bool) {
	host, number, err := net.SplitHostPort(address)
	n, bad := strconv.ParseUint(number, 10, 16)
	return host, int(n), err == nil && bad == nil
}

// Loopback reports whether a host is this machine, seen from itself.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}

package tools

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"testing"
	"time"

	"dragoman/agent"
)

// CheckAddr is the guard's verdict on a resolved address.
func CheckAddr(a netip.Addr) error { return checkAddr(a) }

// CheckTarget is the guard's verdict on what a socket is about to connect to.
func CheckTarget(target netip.AddrPort) error { return checkTarget(target) }

// CheckURL is the guard's verdict on an address as it is written.
func CheckURL(u *url.URL) error { return checkURL(u) }

// ReadPage makes text of a body.
func ReadPage(base *url.URL, contentType string, body []byte) (title, text, binary string) {
	p := readPage(base, contentType, body)
	return p.title, p.text, p.binary
}

// TempName is the file that write_file writes first.
const TempName = tempName

// CheckRedirect is the verdict on a redirect between two addresses.
func CheckRedirect(from, to string) error {
	old, err := http.NewRequest(http.MethodGet, from, nil)
	if err != nil {
		return err
	}
	next, err := http.NewRequest(http.MethodGet, to, nil)
	if err != nil {
		return err
	}
	return newFetcher(nil).checkRedirect(next, []*http.Request{old})
}

// HasProxy reports whether the client of web_fetch would ask for a proxy.
func HasProxy() bool {
	return newFetcher(nil).client.Transport.(*http.Transport).Proxy != nil
}

// FetchOptions are other bounds than the usual ones, where they are not 0.
type FetchOptions struct {
	Timeout              time.Duration
	BodyBytes, TextBytes int
	Ports                []uint16 // beside the usual ones
	Resolver             *net.Resolver

	// exempt are servers on loopback that running lets pass.
	exempt  []netip.AddrPort
	running func() bool
}

// WebFetchWith is web_fetch with these bounds.
func WebFetchWith(o FetchOptions) agent.Tool {
	f := newFetcher(o.Resolver)
	f.timeout, f.bodyBytes, f.textBytes = cmp.Or(o.Timeout, f.timeout), cmp.Or(o.BodyBytes, f.bodyBytes), cmp.Or(o.TextBytes, f.textBytes)
	f.check = func(target netip.AddrPort) error {
		switch {
		case o.running != nil && o.running() && slices.Contains(o.exempt, target):
			return nil
		case slices.Contains(o.Ports, target.Port()):
			target = netip.AddrPortFrom(target.Addr(), 80)
		}
		return checkTarget(target)
	}
	return f.tool()
}

// OnLoopback lets a test fetch from its own servers, given by their URLs
// (http://127.0.0.1:41234), until it ends.
func (o FetchOptions) OnLoopback(t testing.TB, servers ...string) FetchOptions {
	t.Helper()
	ctx := t.Context() // canceled just before the test's cleanup
	o.running = func() bool { return ctx.Err() == nil }
	for _, server := range servers {
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		addr, err := netip.ParseAddrPort(u.Host)
		if err != nil || !addr.Addr().IsLoopback() {
			t.Fatalf("%q is not a server on loopback", server)
		}
		o.exempt = append(slices.Clip(o.exempt), addr)
	}
	return o
}

package tools

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/internal/webpage"
)

// CheckAddr is the guard's check of a resolved address.
func CheckAddr(a netip.Addr) error { return checkAddr(a) }

// CheckTarget is the guard's check of an address that a socket is about to connect
// to.
func CheckTarget(target netip.AddrPort) error { return checkTarget(target) }

// CheckURL is the guard's check of a URL.
func CheckURL(u *url.URL) error { return checkURL(u) }

// TempName is the temporary file of write_file.
const TempName = tempName

// CheckRedirect is the check of a redirect from one URL to another.
func CheckRedirect(from, to string) error {
	old, err := http.NewRequest(http.MethodGet, from, nil)
	if err != nil {
		return err
	}
	next, err := http.NewRequest(http.MethodGet, to, nil)
	if err != nil {
		return err
	}
	return newFetcher(nil, nil).checkRedirect(next, []*http.Request{old})
}

// HasProxy reports whether web_fetch would use a proxy.
func HasProxy() bool {
	return newFetcher(nil, nil).client.Transport.(*http.Transport).Proxy != nil
}

// FetchOptions override the default limits where they are not 0.
type FetchOptions struct {
	Timeout              time.Duration
	BodyBytes, TextBytes int
	Ports                []uint16 // besides the usual ones
	Resolver             *net.Resolver

	// exempt are running servers on loopback that may be reached.
	exempt  []netip.AddrPort
	running func() bool
}

// WebFetchWith is web_fetch with these limits.
func WebFetchWith(o FetchOptions) agent.Tool { return o.fetcher().tool() }

// DownloadWith is Download with these limits.
func DownloadWith(ctx context.Context, o FetchOptions, address string, most int64) ([]byte, error) {
	return o.fetcher().download(ctx, address, most)
}

func (o FetchOptions) fetcher() *fetcher {
	f := newFetcher(o.Resolver, Here{})
	f.timeout = cmp.Or(o.Timeout, f.timeout)
	f.bodyBytes = cmp.Or(o.BodyBytes, f.bodyBytes)
	f.textBytes = cmp.Or(o.TextBytes, f.textBytes)
	f.check = func(target netip.AddrPort) error {
		switch {
		case o.running != nil && o.running() && slices.Contains(o.exempt, target):
			return nil
		case slices.Contains(o.Ports, target.Port()):
			target = netip.AddrPortFrom(target.Addr(), 80)
		}
		return checkTarget(target)
	}
	return f
}

// OnLoopback lets a test fetch from its servers, given by their URLs
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

// Here reads pages in this process.
type Here struct{}

// Page implements [Pages].
func (Here) Page(_ context.Context, base *url.URL, contentType string, body []byte) (webpage.Page, error) {
	return webpage.Read(base, contentType, body), nil
}

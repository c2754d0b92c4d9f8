package tools

import (
	"net/http"
	"net/netip"
	"net/url"
)

// CheckAddr is the guard's verdict on a resolved address.
func CheckAddr(a netip.Addr) error { return checkAddr(a) }

// CheckURL is the guard's verdict on an address as it is written.
func CheckURL(u *url.URL) error { return (&guard{ports: []uint16{80, 443}}).checkURL(u) }

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
	return newFetcher(FetchOptions{}.withDefaults()).checkRedirect(next, []*http.Request{old})
}

// HasProxy reports whether the client of web_fetch would ask for a proxy.
func HasProxy() bool {
	return newFetcher(FetchOptions{}.withDefaults()).client.Transport.(*http.Transport).Proxy != nil
}

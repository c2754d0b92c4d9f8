package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"dragoman/sessions"
)

const (
	// maxBody bounds an answer, and patience the time for it.
	maxBody  = 64 << 10
	patience = 10 * time.Second
	// maxWords bounds foreign words in a sentence.
	maxWords = 300
)

// client makes the requests of one step. It remembers what was wrong with the last one,
// because libraries lose the kind of an error.
type client struct {
	l      *Login
	public *http.Transport
	http   *http.Client
	why    error
	status int
}

func (l *Login) client() *client {
	c := &client{l: l}
	dialer := &net.Dialer{Timeout: patience, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err == nil {
			err = l.o.Public(target)
		}
		return err
	}}
	// A proxy would make the connections in our place, unchecked.
	c.public = &http.Transport{
		Proxy: nil, DialContext: dialer.DialContext, TLSHandshakeTimeout: patience, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: maxBody, DisableKeepAlives: true,
	}
	c.http = &http.Client{Transport: c, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error {
		c.why = errors.New("it redirects to another address, which is not followed")
		return c.why
	}}
	return c
}

// RoundTrip implements [http.RoundTripper] for all requests of a step, and refuses addresses.
func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	c.status = 0
	c.why = c.refuses(r.URL)
	if c.why != nil {
		return nil, c.why
	}
	var via http.RoundTripper = c.public
	if c.wrote(r.URL) {
		via = c.l.o.Via
	}
	resp, err := via.RoundTrip(r)
	if err != nil {
		c.why = fmt.Errorf("%s cannot be reached, or is not allowed: %s", r.URL.Host, words(err.Error()))
		return nil, err
	}
	c.status = resp.StatusCode
	resp.Body = &limited{resp.Body, c, maxBody}
	return resp, nil
}

// refuses says why no request may go to u; nil: it may.
func (c *client) refuses(u *url.URL) error {
	switch {
	case u.User != nil || u.Hostname() == "" || u.Opaque != "":
		return errors.New("it names something that is no address")
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http" || !isLoopback(u.Hostname()):
		return fmt.Errorf("it names %s, which is not https", words(u.Scheme+"://"+u.Host))
	case !c.wrote(u):
		return fmt.Errorf("it names %s, an address of this machine: if that is the authorization server, write oauth.issuer", words(u.Host))
	}
	return nil
}

// wrote reports whether the operator has written the host and port of u: as the url of the
// server, or as its issuer.
func (c *client) wrote(u *url.URL) bool {
	for _, own := range []string{c.l.URL, c.l.Issuer} {
		o, err := url.Parse(own)
		if err == nil && o.Host != "" && originOf(o) == originOf(u) {
			return true
		}
	}
	return false
}

// originOf is the scheme, host and port of u.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" && u.Scheme == "https" {
		port = "443"
	}
	if port == "" && u.Scheme == "http" {
		port = "80"
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}

// because is what was wrong with the last request, or else err.
func (c *client) because(err error) error {
	if c.why != nil {
		return c.why
	}
	return errors.New(words(err.Error()))
}

// limited fails where io.LimitReader would end as if that were all.
type limited struct {
	io.ReadCloser
	c    *client
	left int
}

func (b *limited) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.c.why = fmt.Errorf("it sent more than %d KiB", maxBody>>10)
		return 0, b.c.why
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// words are foreign words in one short line.
func words(text string) string {
	text = strings.Join(strings.Fields(sessions.Printable(text)), " ")
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "…"
	}
	return text
}

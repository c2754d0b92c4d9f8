package oauth

import (
	"errors"
	"net/http"
	"net/url"
)

// Over adds the token to requests that go to the server, and sends one that was refused
// again with a new token, once.
func (l *Login) Over(via http.RoundTripper) http.RoundTripper { return &authorized{l, via} }

// authorized is the transport of [Login.Over].
type authorized struct {
	l   *Login
	via http.RoundTripper
}

// errElsewhere keeps tokens from other hosts, whatever a library does.
var errElsewhere = errors.New("a request to another host gets no token")

// RoundTrip implements [http.RoundTripper].
func (a *authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	own, err := url.Parse(a.l.URL)
	if err != nil || originOf(own) != originOf(r.URL) {
		return nil, closing(r, errElsewhere)
	}
	token, err := a.l.token(r.Context(), "")
	if err != nil {
		return nil, closing(r, err)
	}
	resp, err := a.send(r, token)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || r.Body != nil && r.GetBody == nil {
		return resp, err
	}
	again, err := a.l.token(r.Context(), token)
	if errors.Is(err, errFresh) {
		return resp, nil
	}
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	if r.GetBody != nil {
		r = r.Clone(r.Context())
		r.Body, err = r.GetBody()
		if err != nil {
			return nil, err
		}
	}
	return a.send(r, again)
}

func (a *authorized) send(r *http.Request, token string) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return a.via.RoundTrip(r)
}

// closing is err, after the body of r was closed, as every transport has to.
func closing(r *http.Request, err error) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return err
}

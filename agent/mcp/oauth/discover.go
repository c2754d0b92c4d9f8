package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// place is an authorization server, as far as a login needs it.
type place struct {
	// Resource is what the tokens are for, as the server of tools calls itself.
	Resource string `json:"resource"`
	Issuer   string `json:"issuer"`
	// Token and Revoke are its endpoints. Revoke may be "".
	Token  string `json:"token"`
	Revoke string `json:"revoke,omitempty"`
	// Style is how we say who we are there: see styleFor.
	Style string `json:"style"`

	authorize string
	says      bool // its answers name the issuer
	scopes    []string
}

// The values of place.Style.
const (
	styleNone  = "none"
	styleBasic = "client_secret_basic"
	stylePost  = "client_secret_post"
)

// discover asks the server of tools who lets people in, and that one how.
func (l *Login) discover(ctx context.Context, c *client) (*place, error) {
	asks, err := l.challenge(ctx, c)
	if err != nil {
		return nil, err
	}
	resource, err := l.resource(ctx, c, asks)
	if err != nil {
		return nil, err
	}
	issuer, err := l.issuerOf(resource)
	if err != nil {
		return nil, err
	}
	// A host with a lone slash is common, and metadata are below the bare host.
	m, err := auth.GetAuthServerMetadata(ctx, strings.TrimSuffix(issuer, "/"), c.http)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the authorization server %s cannot be used: %w", words(issuer), c.because(err))
	case m == nil:
		return nil, fmt.Errorf("%s says nothing about how to log in there: if another one is the authorization server, write oauth.issuer", words(issuer))
	}
	p := &place{
		Resource: resource.Resource, Issuer: m.Issuer, Token: m.TokenEndpoint, Revoke: m.RevocationEndpoint,
		authorize: m.AuthorizationEndpoint, says: m.AuthorizationResponseIssParameterSupported,
	}
	p.scopes = l.scopesFor(asks, resource, m)
	return p, l.check(c, p, m)
}

// check refuses an authorization server that cannot be used safely.
func (l *Login) check(c *client, p *place, m *oauthex.AuthServerMeta) error {
	if !slices.Contains(m.CodeChallengeMethodsSupported, "S256") {
		return fmt.Errorf("the authorization server %s does not support PKCE with S256", words(p.Issuer))
	}
	for _, at := range []string{p.authorize, p.Token} {
		u, err := url.Parse(at)
		if err != nil || at == "" {
			return fmt.Errorf("the authorization server %s names no place for the login", words(p.Issuer))
		}
		if err := c.refuses(u); err != nil {
			return fmt.Errorf("the authorization server %s cannot be used: %w", words(p.Issuer), err)
		}
	}
	if u, err := url.Parse(p.Revoke); err != nil || c.refuses(u) != nil {
		p.Revoke = ""
	}
	var err error
	p.Style, err = styleFor(l.ClientSecret, m.TokenEndpointAuthMethodsSupported)
	return err
}

// styleFor is how we say who we are: one that the server supports. A server that says
// nothing supports the basic one (RFC 8414).
func styleFor(secret string, supported []string) (string, error) {
	switch {
	case secret == "":
		return styleNone, nil
	case len(supported) == 0 || slices.Contains(supported, styleBasic):
		return styleBasic, nil
	case slices.Contains(supported, stylePost):
		return stylePost, nil
	}
	return "", errors.New("the authorization server wants another proof of who we are than a secret, which is not possible here")
}

// asked is what a refusal of the server of tools names.
type asked struct {
	metadata string
	scopes   []string
}

// challenge is what the server says to a request without a token.
func (l *Login) challenge(ctx context.Context, c *client) (asked, error) {
	var a asked
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.URL, strings.NewReader(ping))
	if err != nil {
		return a, errors.New("its url is no address")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := c.http.Do(r)
	if err != nil {
		return a, c.because(err)
	}
	_ = resp.Body.Close()
	list, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return a, nil // the usual places are looked at
	}
	for _, one := range list {
		if one.Scheme == "bearer" {
			a.metadata = one.Params["resource_metadata"]
			a.scopes = strings.Fields(one.Params["scope"])
			break
		}
	}
	return a, nil
}

const wellKnown = "/.well-known/oauth-protected-resource"

// resource reads what the server of tools says about itself: where its refusal names it, or
// else at the usual places. A server that says nothing is its own authorization server, as
// in the protocol's first revision with a login, unless there is an issuer.
func (l *Login) resource(ctx context.Context, c *client, a asked) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(l.URL)
	if err != nil {
		return nil, errors.New("its url is no address")
	}
	root := u.Scheme + "://" + u.Host
	places := []string{root + wellKnown + strings.TrimSuffix(u.EscapedPath(), "/"), root + wellKnown}
	if a.metadata != "" {
		places = []string{a.metadata}
	}
	for _, at := range places {
		// Some servers name themselves without their path. The token is for the same host.
		var failed error
		for _, own := range []string{l.URL, root, root + "/"} {
			c.status = 0
			c.why = nil
			m, err := oauthex.GetProtectedResourceMetadata(ctx, at, own, c.http)
			if err == nil {
				return m, nil
			}
			if failed == nil {
				failed = err
			}
			if c.status != http.StatusOK {
				break
			}
		}
		if missing := c.why == nil && c.status >= 400 && c.status < 500; !missing || a.metadata != "" {
			return nil, fmt.Errorf("what it says about its login cannot be used: %w", c.because(failed))
		}
	}
	m := &oauthex.ProtectedResourceMetadata{Resource: l.URL, AuthorizationServers: []string{root}}
	if l.Issuer != "" {
		m.AuthorizationServers = []string{l.Issuer}
	}
	return m, nil
}

// issuerOf is the authorization server of a resource: the one that the operator has written,
// which must be among those, or else the first.
func (l *Login) issuerOf(m *oauthex.ProtectedResourceMetadata) (string, error) {
	if l.Issuer == "" {
		if len(m.AuthorizationServers) == 0 {
			return "", errors.New("it names no authorization server: write oauth.issuer")
		}
		return m.AuthorizationServers[0], nil
	}
	if !slices.ContainsFunc(m.AuthorizationServers, func(one string) bool { return sameIssuer(one, l.Issuer) }) {
		return "", fmt.Errorf("it names another authorization server (%s) than oauth.issuer", words(strings.Join(m.AuthorizationServers, ", ")))
	}
	return l.Issuer, nil
}

// sameIssuer compares issuers; people leave out the last slash.
func sameIssuer(one, other string) bool {
	return strings.TrimSuffix(one, "/") == strings.TrimSuffix(other, "/")
}

// maxScopes bounds what servers may have us ask for.
const maxScopes = 1 << 10

// scopesFor are the scopes to ask for: those of the operator; or those that the server names,
// and what its authorization server wants for tokens that can be refreshed.
func (l *Login) scopesFor(a asked, m *oauthex.ProtectedResourceMetadata, s *oauthex.AuthServerMeta) []string {
	const offline = "offline_access"
	if len(l.Scopes) > 0 {
		return l.Scopes
	}
	scopes := slices.Clone(a.scopes)
	if len(scopes) == 0 {
		scopes = slices.Clone(m.ScopesSupported)
	}
	if slices.Contains(s.ScopesSupported, offline) && !slices.Contains(scopes, offline) {
		scopes = append(scopes, offline)
	}
	for len(strings.Join(scopes, " ")) > maxScopes {
		scopes = scopes[:len(scopes)-1]
	}
	return scopes
}

// drain reads an answer, within the limit of its client.
func drain(c *client, resp *http.Response) ([]byte, error) {
	defer resp.Body.Close() // it was only read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, c.because(err)
	}
	return text, nil
}

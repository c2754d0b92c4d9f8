package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"

	"dragoman/agent/mcp/oauth"
)

// ErrNoOAuth is the error for a login at a server that is configured without one.
var ErrNoOAuth = errors.New("mcp: that server has no oauth in the configuration")

// loginOf is the login at a server; nil without OAuth.
func (p *Pool) loginOf(s *Server, notes Notes) *oauth.Login {
	if s.OAuth == nil {
		return nil
	}
	o := oauth.Options{Notes: notes, Hold: p.o.Hold, Via: p.o.HTTP, Public: p.o.Public, Now: p.o.Now}
	if o.Public == nil {
		o.Public = func(at netip.AddrPort) error { return fmt.Errorf("%s is not allowed", at.Addr()) }
	}
	if o.Hold == nil {
		var one sync.Mutex
		o.Hold = func(ctx context.Context, _ string, f func(context.Context) error) error {
			one.Lock()
			defer one.Unlock()
			return f(ctx)
		}
	}
	return oauth.New(*s.OAuth, o)
}

// authorized is via with the token of the login, if there is one.
func (l *link) authorized(via http.RoundTripper) http.RoundTripper {
	if l.login == nil {
		return via
	}
	return l.login.Over(via)
}

// noLogin says that a request failed for want of a login; nil: that was not it. code is the
// status of the answer, or 0.
func (l *link) noLogin(code int) error {
	if l.login == nil {
		return nil
	}
	switch why := l.login.Failure(); {
	case code == http.StatusUnauthorized:
		return fmt.Errorf("it refuses the token of the login (HTTP 401): say dragoman mcp login %s", l.Name)
	case why != nil:
		return why
	case code == http.StatusForbidden:
		return fmt.Errorf("the login may not do that (HTTP 403): see oauth.scopes, and say dragoman mcp login %s", l.Name)
	}
	return nil
}

// loginAt is the login at a server.
func (p *Pool) loginAt(server string) (*link, error) {
	l, err := p.link(server)
	if err == nil && l.login == nil {
		err = ErrNoOAuth
	}
	return l, err
}

// BeginLogin makes a link, with which a person logs in at a server. Its error has words of
// servers, cleaned.
func (p *Pool) BeginLogin(ctx context.Context, server string) (oauth.Link, error) {
	l, err := p.loginAt(server)
	if err != nil {
		return oauth.Link{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.Start)
	defer cancel()
	return l.login.Begin(ctx)
}

// FinishLogin takes the address to which the browser was sent, and keeps the tokens.
func (p *Pool) FinishLogin(ctx context.Context, server, address string) error {
	l, err := p.loginAt(server)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.Start)
	defer cancel()
	if err := l.login.Finish(ctx, address); err != nil {
		return err
	}
	l.worked()
	return nil
}

// Logout drops the tokens of a server: see [oauth.Login.Logout].
func (p *Pool) Logout(ctx context.Context, server string) (had, told bool, err error) {
	l, err := p.loginAt(server)
	if err != nil {
		return false, false, err
	}
	had, told, err = l.login.Logout(ctx)
	if err != nil {
		return false, false, err
	}
	l.mu.Lock()
	c := l.live
	l.live = nil
	l.mu.Unlock()
	if c != nil {
		c.shut()
	}
	return had, told, nil
}

// loginState is how the login is; nil: there is none, or the store does not say.
func (l *link) loginState(ctx context.Context) *oauth.State {
	if l.login == nil {
		return nil
	}
	st, err := l.login.State(ctx)
	if err != nil {
		l.pool.o.Logger.Warn("the login at a server of tools cannot be read", "server", l.Name, "err", err)
		return nil
	}
	return &st
}

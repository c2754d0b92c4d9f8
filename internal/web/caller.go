package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"dragoman/internal/people"
	"dragoman/internal/respond"
)

// way is how a caller showed who they are.
type way int

// The ways in, the one that counts most first.
const (
	byToken way = iota
	bySession
	byProxy
	byNothing // at an open port
)

// caller is who sent a request.
type caller struct {
	people.Principal
	way     way
	session string // the session's name, of bySession
}

// operator is whoever runs Dragoman.
func operator(scope people.Scope) people.Principal {
	return people.Principal{ID: people.OperatorID, Name: people.OperatorID, Scope: scope}
}

// unauthorized is a refusal that a login mends.
func unauthorized(sentence string) *respond.Refusal {
	return &respond.Refusal{Status: http.StatusUnauthorized, Sentence: sentence}
}

var (
	errAuth      = unauthorized("Log in first, or send the token as Authorization: Bearer.")
	errSlow      = &respond.Refusal{Status: http.StatusTooManyRequests, Sentence: "Too many wrong tokens. Wait a minute."}
	errTwoPeople = unauthorized("This request says that it comes from two people. Log out, or leave out the token.")
	errStore     = &respond.Refusal{Status: http.StatusServiceUnavailable, Sentence: "Nobody can be let in just now. Try again in a moment."}
)

// admit finds out who sent r and checks everything that the package comment promises.
func (d *Door) admit(r *http.Request, scope people.Scope) (caller, error) {
	if err := d.checkSite(r); err != nil {
		return caller{}, err
	}
	c, err := d.find(r)
	if err != nil {
		return caller{}, err
	}
	if c.way != byToken && !hasProof(r) {
		return caller{}, errNoProof
	}
	if !c.May(scope) {
		return caller{}, tooLittle(c, scope)
	}
	return c, nil
}

// tooLittle says which scope is missing, and how to get it.
func tooLittle(c caller, scope people.Scope) error {
	no := &respond.Refusal{Status: http.StatusForbidden, Code: respond.CodeScope, Cause: people.ErrNotAllowed}
	switch {
	case c.way == byNothing:
		no.Sentence = fmt.Sprintf("This needs the scope %s, and without a token there is only the chat. `dragoman console` opens the page with all scopes.", scope)
	case c.IsOperator():
		no.Sentence = fmt.Sprintf("This needs the scope %s, and you have %s. `dragoman console` opens the page with all scopes.", scope, c.Scope)
	default:
		no.Sentence = fmt.Sprintf("This needs the scope %s, and you have %s.", scope, c.Scope)
	}
	return no
}

// checkPublic refuses what an open port does not let in. Anybody may see the public
// pages of a port that asks for a token.
func (d *Door) checkPublic(r *http.Request) error {
	open, err := d.isOpen(r.Context())
	if err != nil || !open { // the pages are public, whatever the store says
		return nil
	}
	_, err = d.find(r)
	if errors.Is(err, errHost) || errors.Is(err, errRemote) {
		return err
	}
	return nil
}

// isOpen reports whether the port lets this machine's people chat without a token.
func (d *Door) isOpen(ctx context.Context) (bool, error) {
	if d.reachable || d.opts.Token != "" || d.opts.Identity.Header != "" {
		return false, nil
	}
	any, err := d.opts.Tokens.Any(ctx)
	return !any, err
}

// find returns who sent r, by all that r shows.
func (d *Door) find(r *http.Request) (caller, error) {
	var found []caller
	for _, look := range []func(*http.Request) (caller, bool, error){d.findToken, d.findSession, d.findProxied} {
		c, ok, err := look(r)
		if err != nil {
			return caller{}, err
		}
		if ok {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return d.findNobody(r)
	}
	for _, other := range found[1:] {
		if other.ID != found[0].ID {
			return caller{}, errTwoPeople
		}
	}
	return found[0], nil
}

// findNobody lets in who shows nothing, if the port is open.
func (d *Door) findNobody(r *http.Request) (caller, error) {
	open, err := d.isOpen(r.Context())
	switch {
	case err != nil:
		d.opts.Logger.Warn("tokens cannot be read, so nobody new is let in", "err", err)
		return caller{}, errStore
	case !open:
		return caller{}, errAuth
	}
	if err := d.checkLocal(r); err != nil {
		return caller{}, err
	}
	return caller{Principal: operator(people.Chat), way: byNothing}, nil
}

// findToken looks for a bearer token. Authorization of another kind is between the
// browser and a proxy, and none of ours.
func (d *Door) findToken(r *http.Request) (c caller, found bool, err error) {
	given := r.Header.Values("Authorization")
	if len(given) == 0 {
		return c, false, nil
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return c, false, nil
	}
	if len(given) > 1 {
		return c, false, unauthorized("Send one token, not several.")
	}
	p, err := d.authenticate(r, strings.TrimSpace(token))
	return caller{Principal: p, way: byToken}, err == nil, err
}

// authenticate finds out whose token it is. A wrong one counts against its address. The
// right one always passes; otherwise anybody who guesses could lock its owner out.
// The tokens are long, so the limit protects only the log and the processor.
func (d *Door) authenticate(r *http.Request, token string) (people.Principal, error) {
	if token == "" {
		return people.Principal{}, errAuth
	}
	p, err := d.opts.Tokens.Authenticate(r.Context(), token)
	if err == nil {
		return p, nil
	}
	why := wrong(err)
	if why == nil {
		d.opts.Logger.Warn("tokens cannot be read, so nobody new is let in", "err", err)
		return people.Principal{}, errStore
	}
	return people.Principal{}, d.countFailure(r, why)
}

// wrong is the refusal of a token that is not good; nil if err says something else.
func wrong(err error) *respond.Refusal {
	for _, w := range []struct {
		err      error
		sentence string
	}{
		{people.ErrMistyped, "The token is mistyped: its checksum does not fit."},
		{people.ErrUnknownToken, "That is not the token."},
		{people.ErrExpired, "The token has expired."},
		{people.ErrRevoked, "The token was revoked."},
		{people.ErrUsedLink, "This link was used, or is older than a minute. `dragoman console` prints a new one."},
	} {
		if errors.Is(err, w.err) {
			no := unauthorized(w.sentence)
			no.Cause = w.err
			return no
		}
	}
	return nil
}

// countFailure counts a wrong token or link. It returns why, or that there were too many.
func (d *Door) countFailure(r *http.Request, why error) error {
	peer := d.proxies.client(r)
	if !d.guesses.allow(peer) {
		d.opts.Failed(true)
		return errSlow
	}
	d.opts.Failed(false)
	d.opts.Logger.Warn("wrong token for the web page", "err", why, "remote", peer)
	return why
}

// findSession looks for the cookie of a session. One that has ended counts as none.
func (d *Door) findSession(r *http.Request) (c caller, found bool, err error) {
	s, found := d.sessions.find(r)
	if !found {
		return c, false, nil
	}
	if err := d.opts.Tokens.Valid(r.Context(), s.principal()); err != nil {
		if wrong(err) == nil {
			return c, false, errStore
		}
		d.sessions.end(s.name)
		return c, false, nil
	}
	return caller{Principal: s.principal(), way: bySession, session: s.name}, true, nil
}

// stillMay reports whether c would be let in again now. What the store cannot say does
// not end what is under way.
func (d *Door) stillMay(ctx context.Context, c caller) bool {
	switch c.way {
	case byNothing:
		open, err := d.isOpen(ctx)
		return open || err != nil
	case bySession:
		if !d.sessions.has(c.session) {
			return false
		}
	case byProxy:
		return true
	case byToken:
	}
	err := d.opts.Tokens.Valid(ctx, c.Principal)
	return err == nil || wrong(err) == nil
}

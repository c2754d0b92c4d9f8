package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// linkFor is how long a link may be answered.
const linkFor = 10 * time.Minute

// Link is where a person logs in.
type Link struct {
	// URL is for a browser.
	URL string
	// Redirect is where the browser is sent then. What it adds is for [Login.Finish].
	Redirect string
	Until    time.Time
}

// pending is a link that was not answered yet.
type pending struct {
	place
	state, verifier string
	until           time.Time
}

// Begin asks the servers where to log in, and makes a link. A link before it is void.
func (l *Login) Begin(ctx context.Context) (Link, error) {
	c := l.client()
	found, err := l.discover(ctx, c)
	if err != nil {
		return Link{}, err
	}
	u, err := url.Parse(found.authorize)
	if err != nil {
		return Link{}, errors.New("the authorization server names no place for the login")
	}
	p := &pending{place: *found, state: rand.Text(), verifier: rand.Text() + rand.Text(), until: l.o.Now().Add(linkFor)}
	sum := sha256.Sum256([]byte(p.verifier))
	q := u.Query()
	q.Set("response_type", "code")
	q.Set("client_id", l.ClientID)
	q.Set("redirect_uri", l.Redirect)
	q.Set("state", p.state)
	q.Set("code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]))
	q.Set("code_challenge_method", "S256")
	q.Set("resource", p.Resource)
	if len(p.scopes) > 0 {
		q.Set("scope", strings.Join(p.scopes, " "))
	}
	u.RawQuery = q.Encode()
	u.Fragment = ""
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = p
	return Link{URL: u.String(), Redirect: l.Redirect, Until: p.until}, nil
}

// The errors of [Login.Finish] that another answer may mend.
var (
	ErrNoAnswer = errors.New("that is not the address to which the browser was sent: it has a code= and a state=")
	ErrOther    = errors.New("that is the answer to another login")
)

// Finish takes the address to which the browser was sent, gets the tokens, and keeps them.
func (l *Login) Finish(ctx context.Context, address string) error {
	q, err := readAnswer(address)
	if err != nil {
		return err
	}
	p, err := l.answered(q.Get("state"))
	if err != nil {
		return err
	}
	iss := q.Get("iss")
	switch {
	case iss != "" && iss != p.Issuer, iss == "" && p.says:
		return errors.New("the answer does not come from the authorization server that was asked: nothing was kept")
	case q.Get("error") != "":
		return fmt.Errorf("the authorization server refused: %s", words(q.Get("error")+" "+q.Get("error_description")))
	case q.Get("code") == "":
		return errors.New("the answer has no code")
	}
	got, err := l.grant(ctx, &p.place, url.Values{
		"grant_type": {"authorization_code"}, "code": {q.Get("code")}, "redirect_uri": {l.Redirect}, "code_verifier": {p.verifier},
	})
	if err != nil {
		return err
	}
	return l.keepNew(ctx, &p.place, got)
}

// answered returns the link that has this state, once.
func (l *Login) answered(state string) (*pending, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pending
	if p == nil || l.o.Now().After(p.until) {
		return nil, l.needed("there is no login to answer, or it took too long")
	}
	if subtle.ConstantTimeCompare([]byte(p.state), []byte(state)) != 1 {
		return nil, ErrOther
	}
	l.pending = nil
	return p, nil
}

// maxAnswer bounds an address that somebody pastes.
const maxAnswer = 16 << 10

// readAnswer is the query of an address, or a bare query.
func readAnswer(address string) (url.Values, error) {
	address = strings.TrimSpace(address)
	if len(address) > maxAnswer {
		return nil, ErrNoAnswer
	}
	text := address
	if _, after, found := strings.Cut(address, "?"); found {
		text = after
	}
	text, _, _ = strings.Cut(text, "#")
	q, err := url.ParseQuery(text)
	if err != nil || q.Get("state") == "" || q.Get("code") == "" && q.Get("error") == "" {
		return nil, ErrNoAnswer
	}
	return q, nil
}

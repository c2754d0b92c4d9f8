package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/internal/web"
)

// Token is a named token in a list. Nothing in it lets anybody in.
type Token struct {
	Name   string `json:"name"`
	Person string `json:"person"`
	Scope  string `json:"scope"`
	// Begins are the first characters of the token.
	Begins  string    `json:"begins,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: when it is revoked
	// LastUsed is rounded down to the hour.
	LastUsed time.Time `json:"last_used,omitzero"`
	Revoked  time.Time `json:"revoked,omitzero"`
	// Grace is until when the secret before a rotation is good.
	Grace time.Time `json:"grace,omitzero"`
	// Page: it is a page that a one-time link opened, and has no secret.
	Page bool `json:"page,omitempty"`
}

// NewToken is a token to be made.
type NewToken struct {
	Name string `json:"name"`
	// Person is "operator" or an identity of a network, like "telegram:123456". "": the
	// caller.
	Person string `json:"person,omitempty"`
	Scope  string `json:"scope"`
	// ExpiresIn is how long it is good, in seconds. 0: until it is revoked.
	ExpiresIn int64 `json:"expires_in,omitempty"`
}

// TokenName names a token. Person is needed only if two people have one of this name.
type TokenName struct {
	Name   string `json:"name"`
	Person string `json:"person,omitempty"`
}

// Rotation gives a token a new secret.
type Rotation struct {
	Name   string `json:"name"`
	Person string `json:"person,omitempty"`
	// Grace is how long the secret before is still good, in seconds.
	Grace int64 `json:"grace,omitempty"`
}

// MadeToken is a token with its secret, which is shown this once.
type MadeToken struct {
	Token
	Secret string `json:"secret"`
}

// ConsoleLink opens the page once.
type ConsoleLink struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expires"`
}

func (s *server) tokens(ctx context.Context, _ None) (Page[Token], error) {
	list, err := s.Tokens.List(ctx)
	if err != nil {
		return Page[Token]{}, err
	}
	page := Page[Token]{Data: []Token{}}
	for _, t := range list {
		page.Data = append(page.Data, tokenOf(t))
	}
	return page, nil
}

func tokenOf(t people.Token) Token {
	return Token{
		Name: t.Name, Person: t.Person, Scope: string(t.Scope), Begins: t.Begins, Created: t.Created, Expires: t.Expires,
		LastUsed: t.LastUsed, Revoked: t.Revoked, Grace: t.Grace, Page: t.Linked,
	}
}

// secretFor returns the person whose token's secret the caller may see. A token that
// lets its holder in as another person would open that person's talks. So only the
// machine's own operator makes one.
func secretFor(ctx context.Context, person string) (string, error) {
	if AtSocket(ctx) {
		return person, nil
	}
	own := caller(ctx).ID
	if cmp.Or(person, own) != own {
		return "", &respond.Refusal{
			Status: http.StatusForbidden, Param: "person",
			Sentence: "Tokens of other people are made only on the machine itself, with the dragoman command.",
		}
	}
	return own, nil
}

func (s *server) createToken(ctx context.Context, n NewToken) (MadeToken, error) {
	person, err := secretFor(ctx, n.Person)
	if err != nil {
		return MadeToken{}, err
	}
	scope, err := people.ParseScope(n.Scope)
	if err != nil {
		return MadeToken{}, refuse("scope", "there is no scope %q: take %s", n.Scope, people.ScopeWords())
	}
	if err := s.Directory.Check(cmp.Or(person, people.OperatorID)); err != nil {
		return MadeToken{}, err
	}
	made, secret, err := s.Tokens.Create(ctx, people.NewToken{Name: n.Name, Person: person, Scope: scope, Lasts: seconds(n.ExpiresIn)})
	return MadeToken{Token: tokenOf(made), Secret: secret}, err
}

func (s *server) rotateToken(ctx context.Context, r Rotation) (MadeToken, error) {
	person, err := secretFor(ctx, r.Person)
	if err != nil {
		return MadeToken{}, err
	}
	made, secret, err := s.Tokens.Rotate(ctx, r.Name, person, seconds(r.Grace))
	return MadeToken{Token: tokenOf(made), Secret: secret}, err
}

func (s *server) revokeToken(ctx context.Context, n TokenName) (Token, error) {
	revoked, err := s.Tokens.Revoke(ctx, n.Name, n.Person)
	return tokenOf(revoked), err
}

// seconds are at most a century, so that no time overflows.
func seconds(n int64) time.Duration {
	const most = 100 * 365 * 24 * 60 * 60
	return time.Duration(min(n, most)) * time.Second
}

func (s *server) consoleLink(ctx context.Context, _ None) (ConsoleLink, error) {
	page := ""
	if s.PageURL != nil {
		page = s.PageURL()
	}
	if page == "" {
		return ConsoleLink{}, ErrNoDaemon
	}
	secret, expires, err := people.NewLinks(s.Tokens).Create(ctx)
	if err != nil {
		return ConsoleLink{}, err
	}
	return ConsoleLink{URL: web.LinkURL(page, secret), Expires: expires}, nil
}

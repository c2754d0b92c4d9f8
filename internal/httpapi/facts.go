package httpapi

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
)

// Remembered is one fact of the memory of a chat or of a person.
type Remembered struct {
	// Scope is whose it is: "chat:" and a key, or "person:", channel and id.
	Scope string `json:"scope"`
	sessions.Fact
}

// scopesOf are the memories that a key stands for: that of the chat, and those
// of the person of this id, under every id of theirs. Those of people who may be
// the same are among them: to read them, or to forget a single fact, harms nobody.
func (a *admin) scopesOf(ctx context.Context, k channels.Key) ([]string, error) {
	seen, err := a.meet(ctx, k)
	if err != nil {
		return nil, err
	}
	mine, maybe := seen.kin(k)
	scopes := []string{chatScope(k)}
	for _, id := range slices.Concat(mine, slices.Concat(maybe...)) {
		scopes = append(scopes, personScope(k.Channel(), id))
	}
	return scopes, nil
}

// facts lists what is remembered of a chat or a person.
func (a *admin) facts(ctx context.Context, r *request) (any, error) {
	k, err := a.resolve(ctx, r.text("target"))
	if err != nil {
		return nil, err
	}
	scopes, err := a.scopesOf(ctx, k)
	if err != nil {
		return nil, err
	}
	all := []Remembered{}
	for _, scope := range scopes {
		facts, err := a.Store.Recall(ctx, scope, "", maxPage)
		if err != nil {
			return nil, err
		}
		for _, f := range facts {
			all = append(all, Remembered{scope, f})
		}
	}
	return all, nil
}

// forgetRequest names one fact.
type forgetRequest struct {
	Target string `json:"target"`
	Fact   int64  `json:"fact"`
}

// forget removes one fact of a chat or a person.
func (a *admin) forget(ctx context.Context, r *request) (any, error) {
	var f forgetRequest
	if err := r.decode(&f); err != nil {
		return nil, err
	}
	k, err := a.resolve(ctx, f.Target)
	if err != nil {
		return nil, err
	}
	scopes, err := a.scopesOf(ctx, k)
	if err != nil {
		return nil, err
	}
	for _, scope := range scopes {
		facts, err := a.Store.Recall(ctx, scope, "", maxPage)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(facts, func(one sessions.Fact) bool { return one.ID == f.Fact }) {
			return done{}, a.audited("forget", func() error { return a.Store.Forget(ctx, scope, f.Fact) }, k)
		}
	}
	return nil, fmt.Errorf("httpapi: forget: %w", sessions.ErrNotFound)
}

// Facts lists what is remembered of target: a key, a person, or a name.
func (c *Client) Facts(ctx context.Context, target string) ([]Remembered, error) {
	return fetch[[]Remembered](ctx, c.patient(), "/v1/facts", url.Values{"target": {target}})
}

// Forget removes one fact of target. Errors: sessions.ErrNotFound.
func (c *Client) Forget(ctx context.Context, target string, fact int64) error {
	return c.patient().post(ctx, "/v1/facts/forget", forgetRequest{target, fact}, &done{})
}

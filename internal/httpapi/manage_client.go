package httpapi

import (
	"context"
	"net/http"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

// Find lists the conversations that match q, most recently updated first.
func (c *Client) Find(ctx context.Context, q sessions.Query) ([]Listed, error) {
	return fetch[[]Listed](ctx, c, "/v1/sessions", q)
}

// Conversation returns one conversation with its settings. Errors:
// sessions.ErrNotFound.
func (c *Client) Conversation(ctx context.Context, k channels.Key) (sessions.Conversation, error) {
	return fetch[sessions.Conversation](ctx, c, "/v1/sessions/one", k)
}

// Generations lists the generations of k, oldest first.
func (c *Client) Generations(ctx context.Context, k channels.Key) ([]sessions.Generation, error) {
	return fetch[[]sessions.Generation](ctx, c, "/v1/sessions/generations", k)
}

// Summary returns the summary that replaces the older messages of the current
// generation of k; nil if there is none.
func (c *Client) Summary(ctx context.Context, k channels.Key) (*sessions.Summary, error) {
	return fetch[*sessions.Summary](ctx, c, "/v1/sessions/summary", k)
}

// Numbers returns the statistics of the conversations.
func (c *Client) Numbers(ctx context.Context) (Numbers, error) {
	return fetch[Numbers](ctx, c, "/v1/sessions/numbers", done{})
}

// Configure changes a conversation's settings and returns the new ones.
func (c *Client) Configure(ctx context.Context, change Change) (sessions.Settings, error) {
	return post[sessions.Settings](ctx, c, "/v1/sessions/configure", change)
}

// Join makes one conversation of two.
func (c *Client) Join(ctx context.Context, from, to channels.Key) error {
	return c.patient().tell(ctx, "/v1/sessions/join", joinRequest{From: from, To: to})
}

// PlanErase lists what eraseRequest target, a key or a person, would remove.
func (c *Client) PlanErase(ctx context.Context, target string, onlyConversation bool) (erasure.Plan, error) {
	return fetch[erasure.Plan](ctx, c.patient(), "/v1/sessions/erase", eraseRequest{target, onlyConversation})
}

// Erase carries out an erasure.
func (c *Client) Erase(ctx context.Context, e sessions.Erasure) (sessions.Erased, error) {
	return post[sessions.Erased](ctx, c.patient(), "/v1/sessions/erase", e)
}

// patientFor bounds the calls that read or rewrite much of the store.
const patientFor = time.Hour

// patient is c for calls that may take long.
func (c *Client) patient() *Client {
	return &Client{http: &http.Client{Transport: c.http.Transport, Timeout: patientFor}}
}

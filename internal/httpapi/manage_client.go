package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

// Find lists the conversations that q chooses, most recently updated first.
func (c *Client) Find(ctx context.Context, q sessions.Query) ([]Listed, error) {
	v := url.Values{"limit": {strconv.Itoa(q.Limit)}}
	if q.After != nil {
		v.Set("after", q.After.String())
	}
	for name, value := range map[string]string{"channel": q.Channel, "tag": q.Tag, "text": q.Text} {
		if value != "" {
			v.Set(name, value)
		}
	}
	for name, value := range q.Metadata {
		v.Add("meta", name+"="+value)
	}
	return fetch[[]Listed](ctx, c, "/v1/sessions", v)
}

// Conversation returns one, with its settings. Errors: sessions.ErrNotFound.
func (c *Client) Conversation(ctx context.Context, k channels.Key) (sessions.Conversation, error) {
	return fetch[sessions.Conversation](ctx, c, "/v1/sessions/one", url.Values{"key": {k.String()}})
}

// Generations lists those of k, oldest first.
func (c *Client) Generations(ctx context.Context, k channels.Key) ([]sessions.Generation, error) {
	return fetch[[]sessions.Generation](ctx, c, "/v1/sessions/generations", url.Values{"key": {k.String()}})
}

// Summary returns what stands for the older messages of the current generation
// of k; nil if nothing does.
func (c *Client) Summary(ctx context.Context, k channels.Key) (*sessions.Summary, error) {
	got, err := fetch[summarized](ctx, c, "/v1/sessions/summary", url.Values{"key": {k.String()}})
	return got.Summary, err
}

// Numbers counts.
func (c *Client) Numbers(ctx context.Context) (Numbers, error) {
	return fetch[Numbers](ctx, c, "/v1/sessions/numbers", nil)
}

// Configure changes a conversation's settings and returns what they are now.
func (c *Client) Configure(ctx context.Context, change Change) (sessions.Settings, error) {
	var now sessions.Settings
	err := c.post(ctx, "/v1/sessions/configure", change, &now)
	return now, err
}

// Join makes one conversation of two.
func (c *Client) Join(ctx context.Context, from, to channels.Key) error {
	return c.patient().post(ctx, "/v1/sessions/join", joinRequest{From: from, To: to}, &done{})
}

// PlanErase says what erasing target, a key or a person, would remove.
func (c *Client) PlanErase(ctx context.Context, target string, onlyConversation bool) (erasure.Plan, error) {
	v := url.Values{"target": {target}}
	if onlyConversation {
		v.Set("only", "conversation")
	}
	return fetch[erasure.Plan](ctx, c.patient(), "/v1/sessions/erase", v)
}

// Erase forgets for good.
func (c *Client) Erase(ctx context.Context, e sessions.Erasure) (sessions.Erased, error) {
	var got sessions.Erased
	err := c.patient().post(ctx, "/v1/sessions/erase", e, &got)
	return got, err
}

// patientFor bounds what reads or rewrites much of the store.
const patientFor = time.Hour

// patient is c for calls that may take long.
func (c *Client) patient() *Client {
	return &Client{http: &http.Client{Transport: c.http.Transport, Timeout: patientFor}}
}

package api

import (
	"context"
	"net/http"

	"dragoman/channels"
)

// viaHeader says that a request comes through something else than this API. Only mcp is
// known. Whoever says so falsely gains nothing by it.
const viaHeader = "X-Dragoman-Via"

// viaInContext is the key of what [Via] returns.
type viaInContext struct{}

// Through is c for the requests that come through via, which is stored with what they say.
func (c *Client) Through(via channels.Via) *Client {
	return &Client{transport: c.transport, via: via}
}

// Via is through what the words of the request of ctx came.
func Via(ctx context.Context) channels.Via {
	if via, ok := ctx.Value(viaInContext{}).(channels.Via); ok {
		return via
	}
	return channels.ViaAPI
}

// withVia is r, with what [Via] returns.
func withVia(r *http.Request) *http.Request {
	if r.Header.Get(viaHeader) != string(channels.ViaMCP) {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), viaInContext{}, channels.ViaMCP))
}

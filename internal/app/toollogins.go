package app

import (
	"context"
	"errors"
	"net/http"

	"dragoman/agent/mcp"
	"dragoman/agent/mcp/oauth"
	"dragoman/internal/api"
	"dragoman/internal/plain"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// toolLogins is the [api.ToolLogins] of a daemon, or of a command without one.
type toolLogins struct{ d *Daemon }

var _ api.ToolLogins = toolLogins{}

// Begin implements [api.ToolLogins].
func (t toolLogins) Begin(ctx context.Context, name string) (api.ToolLogin, error) {
	link, err := t.d.mcp.BeginLogin(ctx, name)
	return api.ToolLogin(link), loginRefusal(name, err)
}

// Finish implements [api.ToolLogins].
func (t toolLogins) Finish(ctx context.Context, name, address string) error {
	return loginRefusal(name, t.d.mcp.FinishLogin(ctx, name, address))
}

// Logout implements [api.ToolLogins].
func (t toolLogins) Logout(ctx context.Context, name string) (api.ToolLogout, error) {
	had, told, err := t.d.mcp.Logout(ctx, name)
	return api.ToolLogout{Had: had, Told: told}, loginRefusal(name, err)
}

// loginRefusal is the error of a login, as callers of the API read it.
func loginRefusal(name string, err error) error {
	no := &respond.Refusal{Status: http.StatusUnprocessableEntity, NoRepeat: true, Sentence: plain.Text(err)}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, mcp.ErrUnknown):
		return unknownServer(name)
	case errors.Is(err, oauth.ErrOther), errors.Is(err, oauth.ErrNoAnswer):
		no.Code = "conflict"
		no.Param = "address"
		no.Cause = sessions.ErrConflict
	}
	return no
}

package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"dragoman/agent/mcp"
	"dragoman/internal/api"
	"dragoman/internal/plain"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// toolServers is the [api.ToolServers] of a daemon, or of a command without one.
type toolServers struct{ d *Daemon }

var _ api.ToolServers = toolServers{}

// List implements [api.ToolServers].
func (t toolServers) List(ctx context.Context) (list []api.ToolServer, err error) {
	for _, s := range t.d.mcp.Status(ctx) {
		state := string(s.State)
		if t.d.gateway == nil {
			state = "stopped"
		}
		c := t.d.cfg.MCP.Servers[s.Server]
		list = append(list, api.ToolServer{
			Name: s.Server, Where: c.Where() + groundOf(c, t.d.launch), State: state, Why: s.Why,
			Tools: s.Tools, Unread: s.Unread, Waiting: s.Waiting, Since: s.Since, Login: (*api.ToolServerLogin)(s.Login),
		})
	}
	return list, nil
}

// Test implements [api.ToolServers].
func (t toolServers) Test(ctx context.Context, name string) (api.ToolReport, error) {
	found, err := t.d.mcp.Test(ctx, name)
	if errors.Is(err, mcp.ErrUnknown) {
		return api.ToolReport{}, unknownServer(name)
	}
	r := api.ToolReport{
		Server: name, Why: plain.Text(err), Protocol: found.Protocol, Program: found.Name, Digest: found.Digest,
		Tools: []api.ToolListed{}, Odd: found.Said, Dropped: found.Dropped, Errors: found.Errors,
	}
	for _, one := range found.Tools {
		r.Tools = append(r.Tools, api.ToolListed(one))
	}
	return r, nil
}

// Accept implements [api.ToolServers].
func (t toolServers) Accept(ctx context.Context, name, digest string) error {
	err := t.d.mcp.Accept(ctx, name, digest)
	switch {
	case errors.Is(err, mcp.ErrUnknown):
		return unknownServer(name)
	case err != nil:
		return &respond.Refusal{Status: http.StatusUnprocessableEntity, Param: "digest", Sentence: plain.Text(err)}
	}
	return nil
}

func unknownServer(name string) error {
	return fmt.Errorf("app: server of tools %s: %w", name, sessions.ErrNotFound)
}

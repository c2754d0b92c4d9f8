package app

import (
	"context"

	"dragoman/agent/mcp"
	"dragoman/internal/config"
	"dragoman/internal/forms"
	"dragoman/internal/sandbox"
)

// Where programs run that are servers of tools, as a part of a sentence.
const (
	beside = ", beside Dragoman as its user, so it can read what Dragoman can (no dragoman-mcp.socket is there)"
	apart  = ", under dragoman-mcp as another user"
)

// launcher starts servers in the unit for them; nil where there is none.
func launcher() mcp.Launch {
	if !sandbox.HasServers(sandbox.ServerSocket) {
		return nil
	}
	return func(ctx context.Context, p mcp.Program) (*mcp.Launched, error) {
		s, err := sandbox.StartServer(ctx, sandbox.ServerSocket, sandbox.Server{Name: p.Server, Command: p.Command, Env: p.Env})
		if err != nil {
			return nil, err
		}
		return &mcp.Launched{Streams: s.Conn, Errors: s.Said}, nil
	}
}

// newForms makes the book of what servers ask people; nil without a server.
func (d *Daemon) newForms() *forms.Book {
	if d.mcp == nil {
		return nil
	}
	return forms.New(d.store, 0, nil)
}

// groundOf says where the program of a server runs; "" of one that has an address.
func groundOf(c config.MCPServer, launch mcp.Launch) string {
	switch {
	case len(c.Command) == 0:
		return ""
	case launch == nil:
		return beside
	}
	return apart
}

// warnOfGround logs which servers have the daemon's user.
func (d *Daemon) warnOfGround() {
	for _, name := range d.cfg.EnabledMCP() {
		if d.launch == nil && len(d.cfg.MCP.Servers[name].Command) > 0 {
			d.log.Warn("a server of tools runs as Dragoman's own user: the unit dragoman-mcp.socket would give it another one", "server", name)
		}
	}
}

package mcp

import (
	"context"

	"dragoman/agent"
)

// Pool has the servers of one daemon. Make it with [New]. It is safe for concurrent use.
type Pool struct {
	servers []Server
	notes   Notes
	o       Options
}

// New returns a pool that starts nothing. notes keeps what was accepted.
func New(servers []Server, notes Notes, o Options) *Pool {
	return &Pool{servers: servers, notes: notes, o: o}
}

// Tools returns the tools that can be offered, sorted by name: the same slice until they
// change. It starts servers that were never seen, and waits for them at most o.Wait; missing
// are those whose tools are not known then.
func (p *Pool) Tools(ctx context.Context) (tools []agent.Tool, missing []Missing) {
	return nil, nil
}

// Status returns how the servers are, by name.
func (p *Pool) Status() []Status { return nil }

// Test lists the tools of a server, and starts it for that.
func (p *Pool) Test(ctx context.Context, server string) (Report, error) { return Report{}, nil }

// Accept accepts what a server lists now, if digest is that of the [Report] which somebody
// has read.
func (p *Pool) Accept(ctx context.Context, server, digest string) error { return nil }

// Close ends all servers, and waits for what the pool has started. It may be called twice.
func (p *Pool) Close() error { return nil }

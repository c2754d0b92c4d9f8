package mcp

import (
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is the connection to one server, which lasts as long as somebody uses it.
type link struct {
	Server
	pool *Pool

	mu    sync.Mutex
	calls map[string]*patience // by their progress tokens
}

// live is an open connection.
type live struct {
	session *sdk.ClientSession
	process *process // nil: the server has an address
	ended   chan struct{}
}

// close ends the connection for good.
func (l *link) close() {}

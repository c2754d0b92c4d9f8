package sessions

import (
	"context"
	"errors"
	"time"

	"dragoman/channels"
)

// Peers is an ability of stores that several nodes share: one node asks another
// for things in its memory or on its sockets. Stores without it have one node.
type Peers interface {
	// Call asks the node that to names, and returns its answer. An error of its
	// function keeps its text, and its class where this package or channels has one
	// ([ErrNotFound], [channels.Retry]). ErrNoPeer: nothing was asked. A call is lost
	// if the other node dies, and ends then with ctx, which has to have a limit.
	Call(ctx context.Context, to Peer, method string, args []byte) ([]byte, error)
	// Serve answers the calls of others, one goroutine a call, until ctx ends; then
	// it waits for them and returns nil. It is called once at a time. A call whose
	// caller has given up has a context that ends.
	Serve(ctx context.Context, f func(ctx context.Context, method string, args []byte) ([]byte, error)) error
	// Nodes lists the nodes that live, this one too if it has begun to work, by Since.
	Nodes(ctx context.Context) ([]Node, error)
	// Leave is called before Run ends: from now on this node takes no more keys, and
	// what is left to do on one is another node's when its handler returns. The node
	// has the role [Leaving] instead of its own.
	Leave(ctx context.Context) error
}

// Leaving is the role of a node that finishes what it does.
const Leaving = "leaving"

// Peer says whom to call: one of its fields is set.
type Peer struct {
	Node  string       // by id
	Key   channels.Key // who has the live claim of it
	Lease string       // who holds it, as in Hold
	All   bool         // all others; they do not answer, and Call returns at once
}

// ErrNoPeer: the addressed node is this one, or there is none. Nothing was asked.
var ErrNoPeer = errors.New("no other node has it")

// MethodChanged is what Serve's function is called with when another node has
// committed a change of a key that this node has the live claim of. Its args are
// the key, and its answer is ignored.
const MethodChanged = "changed"

// MaxAnswer bounds the arguments and the answer of a call, in bytes.
const MaxAnswer = 4 << 20

// Node is one process that works on a store.
type Node struct {
	ID      string `json:"id"`
	Host    string `json:"host,omitempty"` // where it runs, for people
	Version string `json:"version,omitempty"`
	// Roles are what it does: channels, turns, jobs.
	Roles []string  `json:"roles,omitempty"`
	Since time.Time `json:"since"`
	// Lag is how long ago it last renewed its row.
	Lag    time.Duration `json:"lag"`
	Leases []Lease       `json:"leases,omitempty"` // that it holds, sorted
	Claims int           `json:"claims"`           // keys that it works on now
	Self   bool          `json:"self,omitempty"`   // it is the one that was asked
}

// Lease is one that a node holds.
type Lease struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
}

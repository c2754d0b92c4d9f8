package sessions

import (
	"context"
	"errors"
	"time"

	"dragoman/channels"
)

// Peers is an ability of stores that several nodes share: one node asks another
// for something in its memory or on its sockets. A store without it has one node.
type Peers interface {
	// Call calls the node that to names, and returns its answer. An error of the
	// other node's function keeps its text, and its class if this package or channels
	// has one ([ErrNotFound], [channels.Retry]). ErrNoPeer: no node was called. If the
	// other node dies, Call returns when ctx ends, so ctx must have a deadline.
	Call(ctx context.Context, to Peer, method string, args []byte) ([]byte, error)
	// Serve answers the calls of other nodes with f, one goroutine a call, until ctx
	// ends; then it waits for them and returns nil. Only one Serve runs at a time. If
	// the caller gives up, the context of f ends.
	Serve(ctx context.Context, f func(ctx context.Context, method string, args []byte) ([]byte, error)) error
	// Nodes lists the live nodes by Since. This node is among them once it has used
	// Run, Serve, Call or Hold.
	Nodes(ctx context.Context) ([]Node, error)
	// Leave is called before Run ends: this node claims no more keys, and other nodes
	// take over the remaining work of a key when its handler returns. The node's role
	// becomes [Leaving].
	Leave(ctx context.Context) error
}

// Leaving is the role of a node that only finishes its running work.
const Leaving = "leaving"

// Peer says which node to call; one field is set.
type Peer struct {
	Node  string       // the node with this id
	Key   channels.Key // the node that has the live claim of the key
	Lease string       // the node that holds the lease, as in Hold
	All   bool         // all other nodes; they do not answer, and Call returns at once
}

// FormerMethods are the methods that nodes of versions before seals may call, and be called
// with, while such a node is listed. Everybody who may connect to the database can hear and
// make such calls, so none of these does what the store does not confirm: see [Sealed].
var FormerMethods = []string{MethodChanged, MethodSend, "turn.ended", "channel.revive", "channel.states"}

// MethodSend is the method by which a node asks another one to send a delivery.
const MethodSend = "channel.send"

// unsealed is the key of WithoutSeal.
type unsealed struct{}

// WithoutSeal marks the context of a call that came from a node of a version that does not
// seal its calls. Anybody who may connect to the database could have made it.
func WithoutSeal(ctx context.Context) context.Context {
	return context.WithValue(ctx, unsealed{}, true)
}

// Sealed reports whether the call that f of [Peers.Serve] answers surely came from a node.
func Sealed(ctx context.Context) bool { return ctx.Value(unsealed{}) == nil }

// ErrNoPeer: the addressed node is this one, or does not exist. No node was called.
var ErrNoPeer = errors.New("no other node has it")

// MethodChanged is the method that Serve's f is called with after another node has
// committed a change of a key whose live claim this node has. Its args are the key,
// and its answer is ignored.
const MethodChanged = "changed"

// MaxAnswer bounds the arguments and the answer of a call, in bytes.
const MaxAnswer = 4 << 20

// Node is one process that works on a store.
type Node struct {
	ID      string `json:"id"`
	Host    string `json:"host,omitempty"` // where it runs, for display
	Version string `json:"version,omitempty"`
	// Roles are channels, turns and jobs, or Leaving.
	Roles []string  `json:"roles,omitempty"`
	Since time.Time `json:"since"`
	// Lag is how long ago it last renewed its row.
	Lag time.Duration `json:"lag"`
	// Configuration is a hash of its configuration, without paths and secrets; "": unknown.
	Configuration string  `json:"configuration,omitempty"`
	Leases        []Lease `json:"leases,omitempty"` // that it holds, sorted
	Claims        int     `json:"claims"`           // live claims that it has
	Self          bool    `json:"self,omitempty"`   // whether this is the node that answers
}

// Lease is a lease that a node holds.
type Lease struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
}

// Pooled is an ability of stores that share connections to a database.
type Pooled interface {
	Pool() Pool
}

// Pool is the state of the connections of this process to a database.
type Pool struct {
	Used, Idle, Max int
	Waits           int64         // times that somebody had to wait for a connection, so far
	Waited          time.Duration // altogether
}

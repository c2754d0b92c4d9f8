package httpapi

import (
	"context"
	"time"

	"dragoman/sessions"
)

// Nodes are the nodes that work on the store.
type Nodes struct {
	// Shared is false for a store that only one node can open. Then Nodes is empty.
	Shared bool   `json:"shared"`
	Store  string `json:"store,omitempty"` // its type
	Nodes  []Node `json:"nodes"`
}

// Node is one process that works on the store.
type Node struct {
	ID      string    `json:"id"`
	Host    string    `json:"host,omitempty"` // and its state directory
	Self    bool      `json:"self,omitempty"` // this node answers
	Version string    `json:"version,omitempty"`
	Roles   []string  `json:"roles"`
	Since   time.Time `json:"since"`
	// LagS is how long ago it last reported that it lives.
	LagS float64 `json:"lag_seconds"`
	// Chats is how many conversations it works on now.
	Chats int              `json:"chats"`
	Holds []sessions.Lease `json:"holds"` // leases that one node has at a time, like "channel:telegram"
}

// Name is what people call it.
func (n Node) Name() string {
	if n.Host == "" {
		return n.ID
	}
	return n.Host
}

func (a *admin) nodes(ctx context.Context, _ None) (Nodes, error) {
	list := Nodes{Shared: a.Nodes != nil, Store: a.Info().Store, Nodes: []Node{}}
	if a.Nodes == nil {
		return list, nil
	}
	found, err := a.Nodes(ctx)
	for _, n := range found {
		list.Nodes = append(list.Nodes, nodeOf(n))
	}
	return list, err
}

func nodeOf(n sessions.Node) Node {
	return Node{
		ID: n.ID, Host: n.Host, Self: n.Self, Version: n.Version, Roles: append([]string{}, n.Roles...), Since: n.Since,
		LagS: n.Lag.Seconds(), Chats: n.Claims, Holds: append([]sessions.Lease{}, n.Leases...),
	}
}

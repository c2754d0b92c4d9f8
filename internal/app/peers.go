package app

import (
	"context"

	"dragoman/internal/config"
	"dragoman/sessions"
)

// peersOf is the ability of a store that several nodes share, or nil.
func peersOf(store sessions.Store) sessions.Peers {
	p, _ := store.(sessions.Peers)
	return p
}

// lister lists the nodes that share the store, nil if it is of one alone.
func lister(p sessions.Peers) func(context.Context) ([]sessions.Node, error) {
	if p == nil {
		return nil
	}
	return p.Nodes
}

// nodeLabel is the metrics' name for this node, the same after a restart; "" if
// it has no peers.
func nodeLabel(cfg *config.Config) string {
	if cfg.Store.Type != postgresType {
		return ""
	}
	return hostOf(cfg.StateDir)
}

package app

import (
	"context"

	"dragoman/channels/live"
	"dragoman/internal/config"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// What nodes of one store tell each other, beside what their gateways do.
const (
	// liveMethod, and the name of a channel: its hub says something to the others.
	liveMethod = "live:"
	// reloadMethod: read the configuration again.
	reloadMethod = "reload"
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

// others lets the hub of a channel tell those of other nodes something; nil: there
// are none.
func (a *adapters) others(name string) func(context.Context, []byte) error {
	if a.peers == nil {
		return nil
	}
	return func(ctx context.Context, words []byte) error { return everybody(ctx, a.peers, liveMethod+name, words) }
}

// everybody tells all other nodes something.
func everybody(ctx context.Context, p sessions.Peers, method string, args []byte) error {
	_, err := p.Call(ctx, sessions.Peer{All: true}, method, args)
	return err
}

// methods do what other nodes ask for.
func (d *Daemon) methods() map[string]gateway.Method {
	all := map[string]gateway.Method{reloadMethod: func(context.Context, []byte) ([]byte, error) {
		select {
		case d.reloadAsked <- struct{}{}:
		default: // it is about to
		}
		return nil, nil
	}}
	hear := func(hub *live.Hub) {
		all[liveMethod+hub.Name()] = func(ctx context.Context, words []byte) ([]byte, error) {
			hub.Hear(ctx, words)
			return nil, nil
		}
	}
	if w := d.channels.web; w != nil {
		hear(w.Hub)
	}
	if t := d.channels.terminal; t != nil {
		hear(t.Hub)
	}
	return all
}

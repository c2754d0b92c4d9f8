package app

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"dragoman/channels/live"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// The calls between nodes of one store, in addition to those of their gateways.
const (
	// liveMethod, followed by a channel's name, sends a message of its hub to the
	// hubs of the other nodes.
	liveMethod   = "live:"
	reloadMethod = "reload"
	// loginsMethod returns all logins of the page; loginMethod reports a new one, or
	// a logout.
	loginsMethod = "page.logins"
	loginMethod  = "page.login"
	askWithin    = 2 * time.Second
)

// others sends messages of a channel's hub to those of the other nodes; nil if the
// store has one node.
func (a *adapters) others(name string) func(context.Context, []byte) error {
	if a.peers == nil {
		return nil
	}
	return func(ctx context.Context, words []byte) error { return everybody(ctx, a.peers, liveMethod+name, words) }
}

func everybody(ctx context.Context, p sessions.Peers, method string, args []byte) error {
	_, err := p.Call(ctx, sessions.Peer{All: true}, method, args)
	return err
}

// methods are the calls that other nodes can make.
func (d *Daemon) methods() map[string]gateway.Method {
	all := map[string]gateway.Method{reloadMethod: func(context.Context, []byte) ([]byte, error) {
		select {
		case d.reloadAsked <- struct{}{}:
		default: // a reload is due already
		}
		return nil, nil
	}}
	all[loginsMethod] = func(context.Context, []byte) ([]byte, error) {
		if d.door == nil {
			return nil, sessions.ErrNoPeer
		}
		return d.door.Logins()
	}
	all[loginMethod] = func(_ context.Context, logins []byte) ([]byte, error) {
		if d.door == nil {
			return nil, nil
		}
		return nil, d.door.ReceiveLogins(logins)
	}
	maps.Copy(all, newsMethods(d.follower))
	maps.Copy(all, d.healthMethods())
	for _, hub := range []*live.Hub{d.channels.web, d.channels.terminal} {
		if hub == nil {
			continue
		}
		all[liveMethod+hub.Name()] = func(ctx context.Context, words []byte) ([]byte, error) {
			hub.ReceiveBroadcast(ctx, words)
			return nil, nil
		}
	}
	return all
}

// tellLogins tells the pages of other nodes about logins and logouts; nil if the
// store has one node.
func (d *Daemon) tellLogins() func([]byte) error {
	if d.peers == nil {
		return nil
	}
	return func(logins []byte) error {
		ctx, cancel := context.WithTimeout(context.Background(), askWithin)
		defer cancel()
		return everybody(ctx, d.peers, loginMethod, logins)
	}
}

// askLogins asks another node for the logins and logouts on its page while this
// node did not run.
func (d *Daemon) askLogins(ctx context.Context) {
	if d.peers == nil || d.door == nil {
		return
	}
	nodes, err := d.peers.Nodes(ctx)
	for _, n := range nodes {
		if n.Self {
			continue
		}
		ask, cancel := context.WithTimeout(ctx, askWithin)
		var logins []byte
		logins, err = d.peers.Call(ask, sessions.Peer{Node: n.ID}, loginsMethod, nil)
		cancel()
		if err == nil {
			err = d.door.ReceiveLogins(logins)
		}
		if err == nil {
			return
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		d.log.Info("no other node says who has logged in on the page", "err", err)
	}
}

// holders maps channels that only one node runs at a time to that node.
func (d *Daemon) holders() map[string]string {
	if d.peers == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	nodes, err := d.peers.Nodes(ctx)
	if err != nil {
		return nil // the page then shows the channels without their nodes
	}
	on := map[string]string{}
	for _, n := range nodes {
		for _, lease := range n.Leases {
			if name, is := strings.CutPrefix(lease.Name, "channel:"); is {
				on[name] = n.Host
			}
		}
	}
	return on
}

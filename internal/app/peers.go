package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"dragoman/channels/live"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// What nodes of one store tell each other, beside what their gateways do.
const (
	// liveMethod, and the name of a channel: its hub says something to the others.
	liveMethod = "live:"
	// reloadMethod: read the configuration again.
	reloadMethod = "reload"
	// loginsMethod: all who have logged in on the page. loginMethod: one who has, or
	// has logged out.
	loginsMethod = "page.logins"
	loginMethod  = "page.login"
	// askWithin bounds what another node is asked for.
	askWithin = 2 * time.Second
)

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
	all[loginsMethod] = func(context.Context, []byte) ([]byte, error) {
		if d.page == nil {
			return nil, sessions.ErrNoPeer
		}
		return d.page.Logins()
	}
	all[loginMethod] = func(_ context.Context, logins []byte) ([]byte, error) {
		if d.page == nil {
			return nil, nil
		}
		return nil, d.page.ReceiveLogins(logins)
	}
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

// tellLogins tells the pages of other nodes who has logged in or out; nil: there
// are none.
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

// askLogins asks another node who has logged in on its page, and out while this one
// did not run.
func (d *Daemon) askLogins(ctx context.Context) {
	if d.peers == nil || d.page == nil {
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
			err = d.page.ReceiveLogins(logins)
		}
		if err == nil {
			return
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		d.log.Info("no other node says who has logged in on the page", "err", err)
	}
}

// holders are the nodes that channels run on which one node at a time runs.
func (d *Daemon) holders() map[string]string {
	if d.peers == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	nodes, err := d.peers.Nodes(ctx)
	if err != nil {
		return nil // the page shows the channels without it
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

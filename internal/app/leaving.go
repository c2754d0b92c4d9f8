package app

import (
	"context"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

// leaving erases people who ask for it with /forget_me.
type leaving struct{ d *Daemon }

// newLeaving makes what erases people who ask for it. The eraser must be there.
func (d *Daemon) newLeaving() *erasure.Leaving {
	return erasure.NewLeaving(erasure.LeavingOptions{Eraser: d.eraser, Store: d.store, Announce: d.announceLeaving, Log: d.log})
}

// Ask implements [gateway.Leaving]: the gateway is made before the eraser.
func (l leaving) Ask(ctx context.Context, target channels.Key, m channels.Inbound, code string) (string, error) {
	return l.d.leaving.Ask(ctx, target, m, code)
}

// announceLeaving tells whoever runs this that somebody is erased, unless it is them.
func (d *Daemon) announceLeaving(ctx context.Context, id, text string, e sessions.Erasure) error {
	to, err := channels.ParseKey(d.cfg.Alerts.To)
	if err != nil || slices.Contains(e.Keys, to) {
		return nil //nolint:nilerr // alerts.to is empty
	}
	return d.gateway.Tell(ctx, to, id, text)
}

package gateway

import (
	"context"

	"dragoman/channels"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

// wakeWatchers makes those who wait on this node for answers in k look into the store.
func (g *Gateway) wakeWatchers(k channels.Key) {
	for _, w := range g.chats.watchersOf(k) {
		signal(w.settled)
	}
}

// settledHere tells those who wait on this node that messages of k wait no longer.
func (g *Gateway) settledHere(k channels.Key) {
	g.wakeWatchers(k)
	g.emit(stream.Event{Event: stream.Settled, Key: k})
}

// settled publishes that messages of k wait no longer: here and, if asked, on the other
// nodes.
func (g *Gateway) settled(ctx context.Context, k channels.Key, asked bool) {
	g.settledHere(k)
	if !asked || g.opts.Peers == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, stateCallLimit)
	defer cancel()
	if _, err := g.opts.Peers.Call(limited, sessions.Peer{All: true}, callEnded, []byte(k.String())); err != nil && ctx.Err() == nil {
		g.log(k).Debug("the other nodes are not told that a turn has ended; who waits there looks by itself", "err", err)
	}
}

// settledElsewhere is called when a turn of a chat has ended on another node.
func (g *Gateway) settledElsewhere(_ context.Context, key []byte) ([]byte, error) {
	k, err := channels.ParseKey(string(key))
	if err == nil {
		g.settledHere(k)
	}
	return nil, err
}

package gateway

import (
	"context"
	"sync"

	"dragoman/channels"
	"dragoman/sessions"
)

// endings wakes those who wait for the end of a turn. It is memory only, and may wake
// them for another turn of the chat: they look into the store.
type endings struct {
	mu    sync.Mutex
	chats map[channels.Key]chan struct{}
}

// next returns a channel that is closed when the next turn of k ends.
func (e *endings) next(k channels.Key) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.chats[k]
	if c == nil {
		c = make(chan struct{})
		e.chats[k] = c
	}
	return c
}

func (e *endings) ended(k channels.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.chats[k]; c != nil {
		close(c)
		delete(e.chats, k)
	}
}

// turnEnded wakes those who wait for the end of a turn of k, here and, if asked, on the
// other nodes.
func (g *Gateway) turnEnded(ctx context.Context, k channels.Key, asked bool) {
	g.endings.ended(k)
	if !asked || g.opts.Peers == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, stateCallLimit)
	defer cancel()
	if _, err := g.opts.Peers.Call(limited, sessions.Peer{All: true}, callEnded, []byte(k.String())); err != nil && ctx.Err() == nil {
		g.log(k).Debug("the other nodes are not told that a turn has ended; who waits there looks by itself", "err", err)
	}
}

// endedElsewhere is called when a turn of a chat has ended on another node.
func (g *Gateway) endedElsewhere(_ context.Context, key []byte) ([]byte, error) {
	k, err := channels.ParseKey(string(key))
	if err == nil {
		g.endings.ended(k)
	}
	return nil, err
}

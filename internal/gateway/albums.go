package gateway

import (
	"context"
	"fmt"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

const (
	// albumQuiet is how long after one part of an album the next one may come
	// for both to be answered together.
	albumQuiet = 500 * time.Millisecond
	// albumMost bounds that from the first part on; with a [channels.Pauser],
	// four of its pauses do.
	albumMost = 3 * time.Second
)

// albumPause is how long a turn waits after m for the rest of its album, and
// how long at most after the first part. 0: m is no part of any.
func (b *binding) albumPause(m channels.Inbound) (quiet, most time.Duration) {
	if m.Album == "" || m.Edits != "" {
		return 0, 0
	}
	if p, ok := b.Channel.(channels.Pauser); ok {
		quiet = p.Pause(m)
		return quiet, max(albumMost, 4*quiet)
	}
	return albumQuiet, albumMost
}

// pending reads what c has to answer next. Where each message is answered
// alone an album counts as one.
func (g *Gateway) pending(ctx context.Context, c sessions.Claim) (sessions.Pending, error) {
	p, err := g.store.Pending(ctx, c, gatherMost)
	if err != nil {
		return p, fmt.Errorf("read the inbox of %s: %w", c.Key, err)
	}
	if g.opts.Queue == Collect && p.Turn == "" {
		p = g.ofOneAsker(c.Key, p)
	}
	if g.opts.Queue == Each && p.Turn == "" && len(p.Messages) > 1 {
		n, album := 1, p.Messages[0].Inbound.Album
		for album != "" && n < len(p.Messages) && p.Messages[n].Inbound.Album == album {
			n++
		}
		p.More += len(p.Messages) - n
		p.Messages = p.Messages[:n]
	}
	return p, nil
}

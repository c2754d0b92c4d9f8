package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"dragoman/channels"
	"dragoman/sessions"
)

// Tell says text in the conversation to, which needs not exist: through its
// outbox, so that it survives a crash and is tried until it arrives. Only if
// the store cannot write is it sent at once, and then lost if that fails.
func (g *Gateway) Tell(ctx context.Context, to channels.Key, text string) error {
	b := g.bindings[to.Channel()]
	if b == nil {
		return fmt.Errorf("gateway: tell %s: there is no such channel", to)
	}
	m := channels.Inbound{Key: to, ID: "tell:" + rand.Text(), At: g.opts.Now()}
	replies := g.split(to, text, m)
	_, err := g.store.Accept(ctx, sessions.Entry{Inbound: m, Origin: sessions.OriginNotice, Answered: true, Replies: replies})
	if err == nil {
		g.live.kick(to)
		return nil
	}
	g.log(to).Warn("the store cannot write; a notice is sent without it", "err", err)
	for i, r := range replies {
		if _, sent := g.send(ctx, b, channels.Outbound{ID: fmt.Sprintf("%s-%d", m.ID, i), Key: to, Text: r.Text, Attempt: 1}); sent != nil {
			return fmt.Errorf("gateway: tell %s: %w", to, errors.Join(err, sent))
		}
	}
	return nil
}

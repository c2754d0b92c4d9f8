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
	id := "tell:" + rand.Text()
	err := g.notify(ctx, channels.Inbound{Key: to}, id, text)
	if err == nil {
		return nil
	}
	g.log(to).Warn("the store cannot write; sending a notice without saving it first", "err", err)
	for i, r := range g.split(to, text, channels.Inbound{}) {
		if _, sent := g.send(ctx, b, channels.Outbound{ID: fmt.Sprintf("%s-%d", id, i), Key: to, Text: r.Text, Attempt: 1}); sent != nil {
			return fmt.Errorf("gateway: tell %s: %w", to, errors.Join(err, sent))
		}
	}
	return nil
}

// notify stores text as a notice for the chat of to, which it answers: once for its
// id, however often it is called.
func (g *Gateway) notify(ctx context.Context, to channels.Inbound, id, text string) error {
	_, err := g.store.Accept(ctx, sessions.Entry{
		Inbound: channels.Inbound{Key: to.Key, ID: id, At: g.opts.Now()},
		Origin:  sessions.OriginNotice, Answered: true, Replies: g.split(to.Key, text, to),
	})
	if err == nil {
		g.live.kick(to.Key)
	}
	return err
}

package gateway

import (
	"context"
	"errors"
	"fmt"

	"dragoman/channels"
	"dragoman/sessions"
)

// Tell says text in the conversation to, which needs not exist: through its
// outbox, so that it survives a crash and is tried until it arrives. Only if
// the store cannot write is it sent at once. After an error the caller comes again
// with the same id: nothing was sent, or only those saw it who looked at a
// [channels.Mirror], which shows an id once.
func (g *Gateway) Tell(ctx context.Context, to channels.Key, id, text string) error {
	b := g.bindings[to.Channel()]
	if b == nil {
		return fmt.Errorf("gateway: tell %s: there is no such channel", to)
	}
	replies := g.split(to, text, channels.Inbound{})
	for i := range replies {
		replies[i].ID = fmt.Sprintf("tell:%s-%d", id, i)
	}
	err := g.notify(ctx, channels.Inbound{Key: to}, "tell:"+id, replies)
	if err == nil {
		return nil
	}
	g.log(to).Warn("the store cannot write; sending a notice without saving it first", "err", err)
	for _, r := range replies {
		if _, sent := g.send(ctx, b, channels.Outbound{ID: r.ID, Key: to, Text: r.Text, Attempt: 1}); sent != nil {
			return fmt.Errorf("gateway: tell %s: %w", to, errors.Join(err, sent))
		}
	}
	if _, mirror := b.Channel.(channels.Mirror); mirror {
		return fmt.Errorf("gateway: tell %s: not stored yet: %w", to, err)
	}
	return nil
}

// notify stores replies as a notice for the chat of to, which it answers: once for its
// id, however often it is called.
func (g *Gateway) notify(ctx context.Context, to channels.Inbound, id string, replies []sessions.Reply) error {
	_, err := g.store.Accept(ctx, sessions.Entry{
		Inbound: channels.Inbound{Key: to.Key, ID: id, At: g.opts.Now()},
		Origin:  sessions.OriginNotice, Answered: true, Replies: replies,
	})
	if err == nil {
		g.live.kick(to.Key)
	}
	return err
}

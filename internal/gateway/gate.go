package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
)

// verdict is what to do with a message, as far as its author decides that.
type verdict int

const (
	welcome      verdict = iota
	notAddressed         // other people's talk: ignore it
	stranger             // may not talk: stay silent
	wantsPairing         // may not talk yet: offer a pairing code
)

// mayTalk alone decides who may talk, for all channels. It only looks at
// identities that the network vouches for.
func (g *Gateway) mayTalk(ctx context.Context, b *binding, m channels.Inbound) (verdict, error) {
	if !m.Private && (b.Groups == Off || b.Groups != All && !m.Addressed && m.Edits == "") {
		return notAddressed, nil
	}
	return g.checkSender(ctx, b, m)
}

// checkSender is mayTalk for a message that is addressed to us.
func (g *Gateway) checkSender(ctx context.Context, b *binding, m channels.Inbound) (verdict, error) {
	if !b.isShut() && b.allows(m) {
		return welcome, nil
	}
	if b.isShut() || len(m.Sender.IDs) == 0 {
		return stranger, nil
	}
	paired, err := g.store.Paired(ctx, b.Channel.Name(), m.Sender.IDs)
	switch {
	case err != nil:
		return stranger, fmt.Errorf("gateway: look up pairing on %s: %w", b.Channel.Name(), err)
	case paired:
		return welcome, nil
	case m.Private && b.Pairing:
		return wantsPairing, nil
	}
	return stranger, nil
}

func (b *binding) allows(m channels.Inbound) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	// A topic "chat:topic" belongs to its chat.
	chat, _, _ := strings.Cut(m.Key.Chat(), ":")
	return slices.ContainsFunc(b.Allow, func(who string) bool {
		return who == "*" || who == "chat:"+m.Key.Chat() || who == "chat:"+chat ||
			who != "" && slices.Contains(m.Sender.IDs, who) // an adapter may have no id
	})
}

package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
)

type verdict int

const (
	welcome      verdict = iota
	notAddressed         // talk among others that is none of ours
	stranger             // silence
	wantsPairing         // a code for the operator
)

// mayTalk is the one place that decides who may talk, for all channels. It
// looks only at identities that the network vouches for.
func (g *Gateway) mayTalk(ctx context.Context, b *binding, m channels.Inbound) (verdict, error) {
	if !m.Private && (b.Groups == Off || b.Groups != All && !m.Addressed && m.Edits == "") {
		return notAddressed, nil
	}
	return g.known(ctx, b, m)
}

// known is mayTalk for a message that is meant for us.
func (g *Gateway) known(ctx context.Context, b *binding, m channels.Inbound) (verdict, error) {
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

// aside reports whether m changes a message among several people without
// addressing us. It concerns us if that message did, which the store knows;
// else it is their talk.
func (b *binding) aside(m channels.Inbound) bool {
	return m.Edits != "" && !m.Private && !m.Addressed && b.Groups != All
}

func (b *binding) allows(m channels.Inbound) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	// A topic "chat:topic" belongs to its chat.
	chat, _, _ := strings.Cut(m.Key.Chat(), ":")
	return slices.ContainsFunc(b.Allow, func(who string) bool {
		return who == "*" || who == "chat:"+m.Key.Chat() || who == "chat:"+chat ||
			who != "" && slices.Contains(m.Sender.IDs, who) // an adapter may have no id to give
	})
}

package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/internal/actions"
)

// Leaving erases people who ask for it themselves: erasure.Leaving.
type Leaving interface {
	// Ask answers m, in which the person whom the identity target is wrote code, or nothing.
	Ask(ctx context.Context, target channels.Key, m channels.Inbound, code string) (said string, err error)
}

const (
	sayLeavePrivately = "What I have of you concerns only you: write /forget_me to me in a private chat."
	sayLeaveUnknown   = "I cannot be sure here that what I have is yours, so I erase nothing. Log in to the network's services first, or ask whoever runs me."
	sayLeaveElsewhere = "Write /forget_me to me in a private chat on your own network: here a program could have asked for it."
	sayLeaveOperator  = "You run me: “dragoman sessions erase” erases a conversation or a person."
	sayLeaveError     = "Sorry, I could not look up what I have of you, and have erased nothing. Please try again later."
)

// leaver is who the author of m is, as a key; zero if nobody vouches for them, and for a
// program that speaks for somebody.
func (g *Gateway) leaver(m channels.Inbound) channels.Key {
	ids := actions.Who{IDs: m.Sender.IDs}.Vouched()
	if len(ids) == 0 || m.Via != channels.ViaChat {
		return channels.Key{}
	}
	var k channels.Key
	if slices.Contains(g.opts.People.Rooms(), m.Key.Channel()) {
		k, _ = channels.ParseKey(ids[0]) // the whole identity, or nobody's
	} else {
		k, _ = channels.NewKey(m.Key.Channel(), ids[0])
	}
	return k
}

// mayLeave reports whether the author of m can be erased by /forget_me in this chat.
func (g *Gateway) mayLeave(_ context.Context, m channels.Inbound) (bool, error) {
	return m.Private && !g.opts.People.IsOperatorsRoom(m.Key) && !g.leaver(m).IsZero(), nil
}

// forgetMe answers /forget_me.
func (g *Gateway) forgetMe(ctx context.Context, m channels.Inbound) (string, error) {
	who := g.leaver(m)
	switch {
	case g.opts.Leaving == nil:
		return g.unknownCommand(ctx, m, "forget_me")
	case !m.Private:
		return sayLeavePrivately, nil
	case g.opts.People.IsOperatorsRoom(m.Key):
		return sayLeaveOperator, nil
	case m.Via != channels.ViaChat:
		return sayLeaveElsewhere, nil
	case who.IsZero():
		return sayLeaveUnknown, nil
	}
	code := clipText(strings.TrimSpace(arguments(m.Text)), maxDroppedBytes)
	said, err := g.opts.Leaving.Ask(ctx, who, m, code)
	if err != nil && ctx.Err() == nil {
		// As for a title: without an answer the network would hand in the command for ever.
		g.log(m.Key).Error("somebody cannot be erased", "err", err)
		return sayLeaveError, nil
	}
	if err != nil {
		return "", fmt.Errorf("gateway: forget somebody in %s: %w", m.Key, err)
	}
	return said, nil
}

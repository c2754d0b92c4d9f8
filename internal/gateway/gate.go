package gateway

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
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
	if b.allow["*"] || b.allow["chat:"+m.Key.Chat()] || b.allow["chat:"+chat] {
		return true
	}
	for _, id := range m.Sender.IDs {
		// An adapter that has no id to give must not match an empty entry.
		if id != "" && b.allow[id] {
			return true
		}
	}
	return false
}

// offerPairing answers a stranger's first message with a code. What the
// stranger wrote is not stored.
func (g *Gateway) offerPairing(ctx context.Context, m channels.Inbound) error {
	now := g.opts.Now()
	p, created, err := g.store.RequestPairing(ctx, sessions.Pairing{
		Channel: m.Key.Channel(), PersonID: m.Sender.ID(), Name: clipText(m.Sender.Name, 100),
		Code: pairingCode(), Expires: now.Add(g.opts.PairingExpires),
	}, now, g.opts.PairingPending)
	switch {
	case errors.Is(err, sessions.ErrTooMany):
		g.opts.Logger.Warn("pairing refused: too many people wait already", "channel", m.Key.Channel(), "sender", m.Sender.ID())
		return nil
	case err != nil:
		return fmt.Errorf("gateway: request pairing on %s: %w", m.Key.Channel(), err)
	case !created:
		return nil // has a code already; one answer is enough
	}
	g.opts.Observer.Accepted(m.Key.Channel(), "pairing")
	g.opts.Logger.Info("a stranger asks to be let in; see: dragoman pair list",
		"channel", m.Key.Channel(), "sender", m.Sender.ID())
	text := fmt.Sprintf("Hello! I do not know you yet. Please give this code to the person who runs me:\n\n`%s`\n\nIt is good for %s.",
		p.Code, plainDuration(g.opts.PairingExpires))
	m.Text, m.Quote, m.Attachments = "", nil, nil
	return g.answer(ctx, sessions.Entry{Inbound: m}, text)
}

// pairingCode is 65 random bits in letters and digits that are hard to
// confuse, in groups for reading aloud.
func pairingCode() string {
	var b [10]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // crypto/rand never fails on the systems we run on
	}
	s := base32.NewEncoding("ABCDEFGHJKLMNPQRSTUVWXYZ23456789").WithPadding(base32.NoPadding).EncodeToString(b[:])
	return s[0:4] + "-" + s[4:8] + "-" + s[8:13]
}

func plainDuration(d time.Duration) string {
	switch {
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	case d >= time.Hour:
		return "an hour"
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	}
	return d.Round(time.Second).String()
}

package gateway

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// askedMost is how many messages of a stranger wait in memory for the approval.
const askedMost = 5

// turnedAwayPerMinute is how many strangers a minute hear on one channel that
// too many others ask: a crowd of them must not make the bot a sender of spam.
const turnedAwayPerMinute = 5

// asking holds what strangers wrote who were given a code, until they are let
// in. None of it is stored: it is gone with the process.
type asking struct {
	mu     sync.Mutex
	people []*asker
}

// asker is a stranger with a code.
type asker struct {
	channel, person string
	expires         time.Time        // of the code
	first           channels.Inbound // what the code answered, without its text
	said            []channels.Inbound
}

// keep remembers m, which p wrote, as far as there is room: for so many people
// of a channel, whose codes have not expired at now.
func (a *asking) keep(p sessions.Pairing, m channels.Inbound, now time.Time, most int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.people = slices.DeleteFunc(a.people, func(k *asker) bool { return !k.expires.After(now) })
	it := a.find(p.Channel, p.PersonID)
	if it == nil {
		same := 0
		for _, k := range a.people {
			if k.channel == p.Channel {
				same++
			}
		}
		if same >= most {
			return
		}
		it = &asker{channel: p.Channel, person: p.PersonID, expires: p.Expires, first: m}
		it.first.Text, it.first.Quote, it.first.Attachments = "", nil, nil
		a.people = append(a.people, it)
	}
	if _, isCommand := parseCommand(m.Text); isCommand || len(it.said) >= askedMost ||
		slices.ContainsFunc(it.said, func(s channels.Inbound) bool { return s.ID == m.ID }) {
		return
	}
	it.said = append(it.said, m)
}

// change does to what is kept what m, an edit or a deletion, wants, and reports
// whether that was there.
func (a *asking) change(m channels.Inbound) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	it := a.find(m.Key.Channel(), m.Sender.ID())
	if it == nil {
		return false
	}
	i := slices.IndexFunc(it.said, func(s channels.Inbound) bool { return s.Key == m.Key && s.MessageID == m.Edits })
	switch {
	case i < 0:
		return false
	case m.Deletes != "":
		it.said = slices.Delete(it.said, i, i+1)
	default:
		it.said[i].Text = m.Text
	}
	return true
}

// take returns who asked as person and forgets them; nil if nobody did.
func (a *asking) take(channel, person string) *asker {
	a.mu.Lock()
	defer a.mu.Unlock()
	it := a.find(channel, person)
	a.people = slices.DeleteFunc(a.people, func(k *asker) bool { return k == it })
	return it
}

func (a *asking) find(channel, person string) *asker {
	for _, k := range a.people {
		if k.channel == channel && k.person == person {
			return k
		}
	}
	return nil
}

// offerPairing answers a stranger's first message with a code. What the
// stranger wrote is not stored; it is kept in memory until they are let in.
func (g *Gateway) offerPairing(ctx context.Context, m channels.Inbound) error {
	if m.Reaction != "" || m.Edits != "" && g.asking.change(m) || m.Deletes != "" {
		return nil
	}
	now := g.opts.Now()
	p, created, err := g.store.RequestPairing(ctx, sessions.Pairing{
		Channel: m.Key.Channel(), PersonID: m.Sender.ID(), Name: clipText(m.Sender.Name, 100),
		Code: pairingCode(), Expires: now.Add(g.opts.PairingExpires),
	}, now, g.opts.PairingPending)
	switch {
	case errors.Is(err, sessions.ErrTooMany):
		return g.turnAway(ctx, m)
	case err != nil:
		return fmt.Errorf("gateway: request pairing on %s: %w", m.Key.Channel(), err)
	}
	if len(m.Text) <= g.opts.MaxMessageBytes {
		g.asking.keep(p, m, now, g.opts.PairingPending)
	}
	if !created {
		return nil // has a code already; one answer is enough
	}
	g.opts.Observer.Accepted(m.Key.Channel(), "pairing")
	g.opts.Logger.Info("a stranger asks to be let in; see: dragoman pair list",
		"channel", m.Key.Channel(), "sender", m.Sender.ID())
	return g.answerStranger(ctx, m, fmt.Sprintf("Hello! I do not know you yet. Please give this code to the person who runs me:\n\n**%s**\n\nIt is valid for %s.",
		p.Code, plainDuration(g.opts.PairingExpires)))
}

// turnAway tells a stranger, once while codes last, that no code is left.
func (g *Gateway) turnAway(ctx context.Context, m channels.Inbound) error {
	const text = "Hello! I do not know you yet, and too many other people are asking to be let in right now. " +
		"Please ask the person who runs me, or write again in %s."
	if !g.turnedAway.first(m.Key, "", g.opts.Now(), g.opts.PairingExpires) {
		return nil
	}
	if !g.crowd.allow(m.Key.Channel()) {
		g.turnedAway.clear(m.Key) // they hear it when they write again
		return nil
	}
	g.opts.Observer.Accepted(m.Key.Channel(), "refused")
	g.opts.Logger.Warn("a stranger gets no pairing code: too many others are waiting (pairing.max_pending); see: dragoman pair list",
		"channel", m.Key.Channel(), "sender", m.Sender.ID())
	return g.answerStranger(ctx, m, fmt.Sprintf(text, plainDuration(g.opts.PairingExpires)))
}

// answerStranger says text to who wrote m, and stores nothing that they wrote.
func (g *Gateway) answerStranger(ctx context.Context, m channels.Inbound, text string) error {
	m.Text, m.Quote, m.Attachments = "", nil, nil
	_, err := g.reply(ctx, sessions.Entry{Inbound: m}, text)
	return err
}

// ApprovePairing lets the person with this code in, tells them, and answers
// what they wrote while they waited, as far as this process remembers it.
// Errors: sessions.ErrNotFound (unknown, used or expired). That the person
// could not be told is only logged: they are let in all the same.
func (g *Gateway) ApprovePairing(ctx context.Context, code string, now time.Time) (sessions.Pairing, error) {
	p, err := g.store.ApprovePairing(ctx, code, now)
	if err != nil {
		return p, err
	}
	if _, err := where(ctx, g, sessions.Peer{Lease: leaseOf(p.Channel)}, callAdmit, p, g.admit); err != nil {
		g.opts.Logger.Warn("could not tell a paired person that they may write; they must write again", "channel", p.Channel, "sender", p.PersonID, "err", err)
	}
	return p, nil
}

// admit tells who was let in. It is called where their channel is.
func (g *Gateway) admit(ctx context.Context, p sessions.Pairing) (done struct{}, err error) {
	it := g.asking.take(p.Channel, p.PersonID)
	b := g.bindings[p.Channel]
	if it == nil || b == nil || b.isShut() {
		return done, nil
	}
	return done, g.welcome(ctx, it)
}

// welcome tells who was let in, and queues what they wrote before, under ids of
// its own: those of the networks belong to what answered them then.
func (g *Gateway) welcome(ctx context.Context, it *asker) error {
	g.turnedAway.clear(it.first.Key)
	hello := it.first
	hello.ID, hello.At = "let in:"+hello.ID, g.opts.Now()
	if _, err := g.reply(ctx, sessions.Entry{Inbound: hello, Origin: sessions.OriginNotice}, "You may write now."); err != nil {
		return err
	}
	for _, m := range it.said {
		m.ID = "asked:" + m.ID
		if err := g.enqueue(ctx, m, false); err != nil {
			return err
		}
	}
	return nil
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

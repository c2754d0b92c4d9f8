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

// maxApplicantMessages is how many messages of an applicant wait in memory for
// the approval.
const maxApplicantMessages = 5

// turnedAwayPerMinute is how many strangers a minute are told on one channel
// that there is no code for them. A crowd must not make the bot send spam.
const turnedAwayPerMinute = 5

// applicants are the strangers who were given a code, with their messages until
// they are let in. None of it is stored: a restart forgets it.
type applicants struct {
	mu     sync.Mutex
	people []*applicant
}

// applicant is one of [applicants].
type applicant struct {
	channel, person string
	expires         time.Time        // of the code
	first           channels.Inbound // the message that was answered with the code, without its text
	messages        []channels.Inbound
}

// keep remembers m, which p wrote, if there is room: up to most people of a
// channel whose codes have not expired at now.
func (a *applicants) keep(p sessions.Pairing, m channels.Inbound, now time.Time, most int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.people = slices.DeleteFunc(a.people, func(other *applicant) bool { return !other.expires.After(now) })
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
		it = &applicant{channel: p.Channel, person: p.PersonID, expires: p.Expires, first: m}
		it.first.Text = ""
		it.first.Quote = nil
		it.first.Attachments = nil
		a.people = append(a.people, it)
	}
	if _, isCommand := parseCommand(m.Text); isCommand || len(it.messages) >= maxApplicantMessages ||
		slices.ContainsFunc(it.messages, func(s channels.Inbound) bool { return s.ID == m.ID }) {
		return
	}
	it.messages = append(it.messages, m)
}

// change applies m, an edit or a deletion, to a kept message. It reports
// whether there was one.
func (a *applicants) change(m channels.Inbound) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	it := a.find(m.Key.Channel(), m.Sender.ID())
	if it == nil {
		return false
	}
	i := slices.IndexFunc(it.messages, func(s channels.Inbound) bool { return s.Key == m.Key && s.MessageID == m.Edits })
	switch {
	case i < 0:
		return false
	case m.Deletes != "":
		it.messages = slices.Delete(it.messages, i, i+1)
	default:
		it.messages[i].Text = m.Text
	}
	return true
}

func (a *applicants) take(channel, person string) *applicant {
	a.mu.Lock()
	defer a.mu.Unlock()
	it := a.find(channel, person)
	a.people = slices.DeleteFunc(a.people, func(other *applicant) bool { return other == it })
	return it
}

func (a *applicants) find(channel, person string) *applicant {
	for _, k := range a.people {
		if k.channel == channel && k.person == person {
			return k
		}
	}
	return nil
}

// offerPairing answers a stranger's first message with a code. The message is
// not stored; it is kept in memory until they are let in.
func (g *Gateway) offerPairing(ctx context.Context, m channels.Inbound) error {
	if m.Reaction != "" || m.Edits != "" && g.applicants.change(m) || m.Deletes != "" {
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
		g.applicants.keep(p, m, now, g.opts.PairingPending)
	}
	if !created {
		return nil // they have a code already; one answer is enough
	}
	g.opts.Observer.Accepted(m.Key.Channel(), "pairing")
	g.opts.Logger.Info("a stranger asks to be let in; see: dragoman pair list",
		"channel", m.Key.Channel(), "sender", m.Sender.ID())
	return g.answerStranger(ctx, m, fmt.Sprintf("Hello! I do not know you yet. Please give this code to the person who runs me:\n\n**%s**\n\nIt is valid for %s.",
		p.Code, plainDuration(g.opts.PairingExpires)))
}

// turnAway tells a stranger that no code is left, once in the lifetime of a code.
func (g *Gateway) turnAway(ctx context.Context, m channels.Inbound) error {
	const text = "Hello! I do not know you yet, and too many other people are asking to be let in right now. " +
		"Please ask the person who runs me, or write again in %s."
	if !g.chats.turnAway(m.Key, g.opts.Now(), g.opts.PairingExpires) {
		return nil
	}
	if !g.turnAwayRate.allow(m.Key.Channel()) {
		g.chats.turnBack(m.Key) // they are told when they write again
		return nil
	}
	g.opts.Observer.Accepted(m.Key.Channel(), "refused")
	g.opts.Logger.Warn("a stranger gets no pairing code: too many others are waiting (pairing.max_pending); see: dragoman pair list",
		"channel", m.Key.Channel(), "sender", m.Sender.ID())
	return g.answerStranger(ctx, m, fmt.Sprintf(text, plainDuration(g.opts.PairingExpires)))
}

// answerStranger sends text to the author of m and stores nothing that they wrote.
func (g *Gateway) answerStranger(ctx context.Context, m channels.Inbound, text string) error {
	m.Text = ""
	m.Quote = nil
	m.Attachments = nil
	_, err := g.storeReply(ctx, sessions.Entry{Inbound: m}, channels.KindNotice, text)
	return err
}

// ApprovePairing lets the person with this code in, tells them, and answers
// what they wrote while they waited, as far as this process remembers it.
// Errors: sessions.ErrNotFound (unknown, used or expired). If the person cannot
// be told, that is only logged.
func (g *Gateway) ApprovePairing(ctx context.Context, code string, now time.Time) (sessions.Pairing, error) {
	p, err := g.store.ApprovePairing(ctx, code, now)
	if err != nil {
		return p, err
	}
	if err := g.admitEverywhere(ctx, p); err != nil {
		g.opts.Logger.Warn("could not tell a paired person that they may write; they must write again", "channel", p.Channel, "sender", p.PersonID, "err", err)
	}
	return p, nil
}

// admitEverywhere calls admit where the applicant's messages came in: on the node that
// runs the channel or, if the network calls any of them, on all.
func (g *Gateway) admitEverywhere(ctx context.Context, p sessions.Pairing) error {
	b := g.bindings[p.Channel]
	if g.opts.Peers == nil || b == nil || b.callback() == nil {
		_, err := onNode(ctx, g, sessions.Peer{Lease: leaseOf(p.Channel)}, callAdmit, p, g.admit)
		return err
	}
	_, here := g.admit(ctx, p)
	_, there := call[struct{}](ctx, g, sessions.Peer{All: true}, callAdmit, p)
	return errors.Join(here, there)
}

// admit tells an applicant that they were let in, and queues what they wrote
// before. The messages get new ids, because the old ones belong to the answers
// of that time. It does nothing on a node to which the
// applicant has not written.
func (g *Gateway) admit(ctx context.Context, p sessions.Pairing) (done struct{}, err error) {
	it := g.applicants.take(p.Channel, p.PersonID)
	b := g.bindings[p.Channel]
	if it == nil || b == nil || g.opts.Gate.Policy(p.Channel).Shut {
		return done, nil
	}
	g.chats.turnBack(it.first.Key)
	hello := it.first
	hello.ID, hello.At = onceID("let in", hello.ID), g.opts.Now()
	if _, err := g.storeReply(ctx, sessions.Entry{Inbound: hello, Source: sessions.SourceNotice}, channels.KindNotice, "You may write now."); err != nil {
		return done, err
	}
	for _, m := range it.messages {
		m.ID = onceID("asked", m.ID)
		if err := g.enqueue(ctx, m, false); err != nil {
			return done, err
		}
	}
	return done, nil
}

// pairingCode is 65 random bits in letters and digits that are hard to confuse,
// in groups for reading aloud.
func pairingCode() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails
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

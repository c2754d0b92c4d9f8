package gateway

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"dragoman/channels"
	"dragoman/sessions"
)

// overLimit is why m is refused; "" within the limits.
func (g *Gateway) overLimit(ctx context.Context, m channels.Inbound) string {
	if len(m.Text) > g.opts.MaxMessageBytes {
		return fmt.Sprintf("Your message is too long for me (%s; I can read at most %s). Please send it in parts.",
			size(len(m.Text)), size(g.opts.MaxMessageBytes))
	}
	if !g.withinRate(ctx, m) {
		return fmt.Sprintf("You sent more than %d messages in a minute. Please wait a little, then send the ones after the limit again.", g.opts.RatePerMinute)
	}
	return ""
}

// withinRate counts m against its author's rate: also on the other nodes, if
// the author can write on all of them.
func (g *Gateway) withinRate(ctx context.Context, m channels.Inbound) bool {
	who := m.Key.Channel() + " " + m.Sender.ID()
	if m.Sender.ID() == "" {
		// Authors for whom their network does not vouch, such as anonymous
		// administrators of a group, count together in each chat, so that one
		// chat cannot silence the others.
		who = m.Key.String()
	}
	if g.rates.after(who) > 0 {
		return false
	}
	if g.bindings[m.Key.Channel()].takesAnywhere() {
		g.tellRate(ctx, m.Key, who)
	}
	return true
}

// tellRate has the other nodes count what who wrote in k.
func (g *Gateway) tellRate(ctx context.Context, k channels.Key, who string) {
	if g.opts.Peers == nil || g.opts.RatePerMinute <= 0 {
		return
	}
	if _, err := g.opts.Peers.Call(ctx, sessions.Peer{All: true}, callWrote, []byte(who)); err != nil {
		g.log(k).Warn("a message counts against its author's rate on this node only", "err", err)
	}
}

// withinGivenRate counts a turn over given messages against the rate of its person, as one
// message on a channel of its own: k names it.
func (g *Gateway) withinGivenRate(ctx context.Context, k channels.Key, person channels.Person) error {
	who := k.Channel() + " " + person.ID()
	after := g.rates.after(who)
	if after > 0 {
		return &RefusedError{Why: fmt.Sprintf("That is more than %d requests in a minute. Wait a little.", g.opts.RatePerMinute), Later: true, After: after}
	}
	g.tellRate(ctx, k, who)
	return nil
}

// refuse answers m with why. Further messages are refused in silence while the
// same reason goes on.
func (g *Gateway) refuse(ctx context.Context, m channels.Inbound, why string) error {
	g.opts.Observer.Accepted(m.Key.Channel(), "over_limit")
	e := sessions.Entry{Inbound: m, Answered: true}
	e.Inbound.Text, e.Inbound.Attachments = clipText(m.Text, 1000), nil
	if g.chats.refuse(m.Key, why, g.opts.Now()) {
		e.Replies = g.split(sessions.Label{Kind: channels.KindNotice}, m.Key, g.SpellCommands(m.Key, why), m)
	}
	got, err := g.store.Accept(ctx, e)
	if err != nil {
		return fmt.Errorf("gateway: refuse %s: %w", m.Key, err)
	}
	if got.Outcome == sessions.Done {
		g.chats.expedite(m.Key, got.Seq, len(e.Replies))
	}
	g.chats.kick(m.Key)
	return nil
}

// limiter allows each person a number of messages a minute.
type limiter struct {
	perMinute int // negative: no limit
	now       func() time.Time
	mu        sync.Mutex
	people    map[string]*rate.Limiter
}

// maxPeopleKept bounds the memory. Beyond it everybody starts afresh, which at
// worst grants one more minute's worth of messages.
const maxPeopleKept = 10_000

func (l *limiter) allow(person string) bool { return l.after(person) == 0 }

// after counts one message of a person, and returns 0; or, over the limit, when they may
// write again.
func (l *limiter) after(person string) time.Duration {
	if l.perMinute < 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.people == nil || len(l.people) > maxPeopleKept {
		l.people = make(map[string]*rate.Limiter)
	}
	lim := l.people[person]
	if lim == nil {
		lim = rate.NewLimiter(rate.Limit(float64(l.perMinute)/60), l.perMinute)
		l.people[person] = lim
	}
	now := l.now()
	one := lim.ReserveN(now, 1)
	after := one.DelayFrom(now)
	if after > 0 {
		one.CancelAt(now)
	}
	return after
}

// notice is a refusal that a chat was sent, so that somebody who goes on writing is told
// once and not each time.
type notice struct {
	text string
	at   time.Time
}

// noticeEvery is for how long a chat does not get the same refusal again.
const noticeEvery = time.Minute

// first reports whether text was not sent within every, and remembers it.
func (n *notice) first(text string, now time.Time, every time.Duration) bool {
	if n.text == text && !n.at.IsZero() && now.Sub(n.at) < every {
		return false
	}
	*n = notice{text, now}
	return true
}

// refuse reports whether k is to be told this refusal.
func (s *chats) refuse(k channels.Key, text string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at(k).refusal.first(text, now, noticeEvery)
}

// welcome forgets what k was refused with: a message of its was taken.
func (s *chats) welcome(k channels.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.m[k]
	if c == nil {
		return
	}
	c.refusal = notice{}
	s.tidy(k)
}

// turnAway reports whether the stranger in k is to be told that there is no code for them,
// once in every.
func (s *chats) turnAway(k channels.Key, now time.Time, every time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at(k).turnedAway.first("", now, every)
}

// turnBack forgets that the stranger in k was told.
func (s *chats) turnBack(k channels.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.m[k]
	if c == nil {
		return
	}
	c.turnedAway = notice{}
	s.tidy(k)
}

// clipText cuts s to at most n bytes between two characters.
func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimSpace(s[:n]) + "…"
}

// size is n bytes in a unit that people read.
func size(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

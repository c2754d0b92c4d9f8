package irc

import (
	"context"
	"strings"
	"time"

	"dragoman/channels"
)

// CanTalk returns nil if a message to k could be sent now.
func (c *Channel) CanTalk(k channels.Key) error {
	s := c.current.Load()
	if s == nil {
		return errNotConnected
	}
	_, _, err := s.resolveTarget(context.Background(), channels.Outbound{Key: k})
	return err
}

// Forget makes us look everybody up before the next answer.
func (c *Channel) Forget() {
	c.current.Load().do(context.Background(), c.people.forgetSightings)
}

// Age makes our last sighting of everybody older by d.
func (c *Channel) Age(d time.Duration) {
	c.current.Load().do(context.Background(), func() {
		for _, who := range c.people.all {
			if time.Since(who.seen) < 45*time.Second {
				who.seen = who.seen.Add(-d)
			}
		}
	})
}

// Scram performs one login, message by message.
func Scram(user, password, nonce string) func(said string) (string, error) {
	return (&scram{user: user, password: password, nonce: nonce}).next
}

// For tests of the pure parts.
var (
	Addressed = func(text, nick string) (string, bool) { return channels.SpokenTo(text, []string{nick}, foldRFC.same) }
	Plain     = plain
)

// Wire returns the lines that markdown becomes on IRC.
func Wire(markdown string, budget int) []string {
	return WirePiece(channels.Piece{Text: markdown}, budget)
}

// WirePiece is Wire for a piece of an answer.
func WirePiece(p channels.Piece, budget int) (out []string) {
	for _, line := range linesOf(p.Text, p.Form) {
		for _, part := range wrap(line, budget) {
			out = append(out, strings.TrimPrefix(part.text, verbatim))
		}
	}
	return out
}

// Budget is how many bytes of text fit into a line.
var Budget = budget

// Pending counts the lines that were written and are not confirmed.
func (c *Channel) Pending() (n int) {
	s := c.current.Load()
	if s == nil {
		return 0
	}
	s.do(context.Background(), func() {
		for _, d := range s.pending {
			if d.state.Load() == begun {
				n++
			}
		}
	})
	return n
}

// LineWaits reports whether a line waits for the flood budget.
func (c *Channel) LineWaits() bool { return c.current.Load().limiter.Tokens() < 0 }

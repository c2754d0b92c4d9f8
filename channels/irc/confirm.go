package irc

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"dragoman/channels"
)

// settle finishes d and forgets it.
func (s *session) settle(d *delivery, err error) {
	d.finish(err)
	s.pending = slices.DeleteFunc(s.pending, func(p *delivery) bool { return p == d })
}

// confirmUpTo is a PONG: every line before its PING was taken.
func (s *session) confirmUpTo(token string) {
	n, err := strconv.ParseUint(token, 10, 64)
	if err != nil || s.net.caps["echo-message"] {
		return
	}
	for len(s.pending) > 0 && s.pending[0].seq <= n {
		s.settle(s.pending[0], nil)
	}
}

// confirmEcho is the network showing us our own line. It may have changed the
// text (channels can forbid colours), so the oldest line to the same target
// counts when none has the same text.
func (s *session) confirmEcho(target, text string) {
	var first *delivery
	for _, d := range s.pending {
		if !s.net.fold.same(d.target, target) {
			continue
		}
		if d.text == text {
			s.settle(d, nil)
			return
		}
		if first == nil {
			first = d
		}
	}
	if first != nil {
		s.settle(first, nil)
	}
}

// expire gives up on lines that nobody confirmed.
func (s *session) expire(now time.Time) {
	for len(s.pending) > 0 && now.Sub(s.pending[0].at) > s.ch.opts.ConfirmTimeout {
		d := s.pending[0]
		if d.drop() {
			s.settle(d, notSent("send to %s: the server takes no lines", d.target))
		} else {
			s.settle(d, fmt.Errorf("irc: send to %s: not confirmed within %s", d.target, s.ch.opts.ConfirmTimeout))
		}
	}
	for nick, q := range s.whois {
		if now.Sub(q.at) > min(lookupTime, s.ch.opts.ConfirmTimeout) {
			s.answer(nick)
		}
	}
}

// abandon tells everybody who still waits that the connection is over.
func (s *session) abandon(err error) {
	for _, d := range s.pending {
		if d.drop() {
			d.finish(&channels.NotSent{Err: errNotConnected})
		} else {
			d.finish(fmt.Errorf("irc: send to %s: the connection ended before the line was confirmed: %w", d.target, plainError(err)))
		}
	}
	for nick := range s.whois {
		s.answer(nick)
	}
	s.ch.people.doubt()
}

// plainError keeps what ended a session from classifying a message that had
// nothing to do with it.
func plainError(err error) error {
	if err == nil {
		return errNotConnected
	}
	return errors.New(sentence(err))
}

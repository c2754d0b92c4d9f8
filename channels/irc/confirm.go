package irc

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"dragoman/channels"
)

func (s *session) settle(d *delivery, err error) {
	d.finish(err)
	s.pending = slices.DeleteFunc(s.pending, func(p *delivery) bool { return p == d })
}

// confirmUpTo handles a PONG: the server has taken every line before its PING.
func (s *session) confirmUpTo(token string) {
	n, err := strconv.ParseUint(token, 10, 64)
	if err != nil || s.net.caps["echo-message"] {
		return
	}
	for len(s.pending) > 0 && s.pending[0].seq <= n {
		s.settle(s.pending[0], nil)
	}
}

// confirmEcho handles the echo of a line of ours. The server may have changed the
// text (channels can forbid colours), so if no pending line has this text, the
// oldest one to the same target counts as confirmed.
func (s *session) confirmEcho(target, text string) {
	same := func(d *delivery) bool { return s.net.fold.same(d.target, target) }
	i := slices.IndexFunc(s.pending, func(d *delivery) bool { return d.text == text && same(d) })
	if i < 0 {
		i = slices.IndexFunc(s.pending, same)
	}
	if i >= 0 {
		s.settle(s.pending[i], nil)
	}
}

// expire fails the lines and WHOIS queries that the server has not answered in time.
func (s *session) expire(now time.Time) {
	for len(s.pending) > 0 && now.Sub(s.pending[0].at) > s.ch.opts.ConfirmTimeout {
		d := s.pending[0]
		if d.drop() {
			s.settle(d, notSent("send to %s: the server has stopped reading", d.target))
		} else {
			s.settle(d, fmt.Errorf("irc: send to %s: not confirmed within %s", d.target, s.ch.opts.ConfirmTimeout))
		}
	}
	for nick, q := range s.whois {
		if now.Sub(q.at) > min(whoisTimeout, s.ch.opts.ConfirmTimeout) {
			s.finishWhois(nick)
		}
	}
}

// abandon fails everything still pending when the connection has ended.
func (s *session) abandon(err error) {
	for _, d := range s.pending {
		if d.drop() {
			d.finish(&channels.NotSent{Err: errNotConnected})
		} else {
			d.finish(fmt.Errorf("irc: send to %s: the connection ended before the line was confirmed: %w", d.target, plainError(err)))
		}
	}
	for nick := range s.whois {
		s.finishWhois(nick)
	}
	s.ch.people.forgetSightings()
}

// plainError strips err of its type: that a session ended with, say, a permanent
// error must not make the messages it carried permanent failures.
func plainError(err error) error {
	if err == nil {
		return errNotConnected
	}
	return errors.New(sentence(err))
}

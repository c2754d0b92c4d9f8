package irc

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"dragoman/channels"
)

// loops notices another program that answers our answers: nobody types ten
// messages in a minute, each of them after an answer to the one before.
type loops struct {
	mu sync.Mutex
	by map[string]*exchange // by chat and sender
}

// exchange is what goes back and forth with one sender.
type exchange struct {
	answered bool // since their last message
	turns    []time.Time
	last     time.Time
	silent   bool // until they pause
}

const (
	mostTurns  = 10          // in loopSpan
	loopSpan   = time.Minute // also the pause that ends the silence
	loopsBound = 1000
)

// sayLoop is said once to whoever answers our answers.
const sayLoop = "You answer faster than a person can type, so I think that you are a program and will stop answering. Write again after a pause of one minute."

// heard notes a message of who in chat, and reports whether it is not answered.
// begins: it is the first of those.
func (l *loops) heard(who string, now time.Time) (silent, begins bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.by[who]
	if x == nil || now.Sub(x.last) > loopSpan {
		if len(l.by) >= loopsBound {
			maps.DeleteFunc(l.by, func(_ string, x *exchange) bool { return now.Sub(x.last) > loopSpan })
		}
		x = &exchange{}
		l.by[who] = x
	}
	x.last = now
	if x.answered {
		x.answered, x.turns = false, append(x.turns, now)
	}
	x.turns = slices.DeleteFunc(x.turns, func(t time.Time) bool { return now.Sub(t) > loopSpan })
	begins = !x.silent && len(x.turns) >= mostTurns
	x.silent = x.silent || begins
	return x.silent, begins
}

// said notes an answer to who.
func (l *loops) said(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.by[who]; x != nil {
		x.answered = true
	}
}

// looping reports whether m comes from a program that answers our answers. It
// tells it so, once.
func (s *session) looping(m channels.Inbound) bool {
	if !m.Private && !m.Addressed {
		return false
	}
	silent, begins := s.ch.loops.heard(m.Key.String()+" "+s.ch.Asker(m.MessageID), time.Now())
	if begins {
		s.log.Warn("not answered any more: it answers faster than a person can", "key", m.Key.String(), "sender", m.Sender.ID())
		s.wg.Go(func() {
			if err := s.sayNow(context.Background(), channels.Outbound{Key: m.Key, Text: sayLoop, ReplyTo: m.MessageID}); err != nil {
				s.log.Debug("could not tell a program that it gets no more answers", "err", err)
			}
		})
	}
	return silent
}

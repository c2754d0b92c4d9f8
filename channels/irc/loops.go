package irc

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"dragoman/channels"
)

// loops detects programs that reply to our answers: no person types ten messages
// in a minute, each after an answer to the one before, and hardly two in a row faster
// than anybody types. Many programs answer to their name, with which our answers begin, so
// those to such a quick sender begin with something else, and the talk ends there.
type loops struct {
	mu sync.Mutex
	by map[string]*exchange // keyed by chat and sender
}

// exchange is what [loops] knows of one sender in one chat.
type exchange struct {
	answered bool        // we have answered since their last message
	at       time.Time   // of our last answer
	quick    int         // messages in a row that were typed too fast
	turns    []time.Time // their messages that followed an answer, within loopSpan
	last     time.Time   // of their messages
	silent   bool        // we do not answer until they pause
}

const (
	maxTurns     = 10          // within loopSpan
	loopSpan     = time.Minute // also the pause after which we answer again
	maxExchanges = 1000
	maxQuick     = 2
	typingSpeed  = 15 // letters a second, more than anybody's
)

// loopNotice is sent once to a sender whom we stop answering.
const loopNotice = "You reply faster than a person can type, so I take you for a program and will stop answering. Pause for a minute, then write again."

// received notes a message of so many letters from who and reports whether to leave it
// unanswered. begins: it is the first such message.
func (l *loops) received(who string, letters int, now time.Time) (silent, begins bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.by[who]
	if x == nil || now.Sub(x.last) > loopSpan {
		if len(l.by) >= maxExchanges {
			maps.DeleteFunc(l.by, func(_ string, x *exchange) bool { return now.Sub(x.last) > loopSpan })
		}
		x = &exchange{}
		l.by[who] = x
	}
	x.last = now
	if x.answered {
		x.answered, x.turns = false, append(x.turns, now)
		if now.Sub(x.at) < time.Duration(letters)*time.Second/typingSpeed {
			x.quick++
		} else {
			x.quick = 0
		}
	}
	x.turns = slices.DeleteFunc(x.turns, func(t time.Time) bool { return now.Sub(t) > loopSpan })
	begins = !x.silent && len(x.turns) >= maxTurns
	x.silent = x.silent || begins
	return x.silent, begins
}

func (l *loops) answered(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.by[who]; x != nil {
		x.answered = true
		x.at = time.Now()
	}
}

// isQuick reports whether who types faster than a person, so that an answer to them must
// not begin with their name.
func (l *loops) isQuick(who string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.by[who]
	return x != nil && x.quick >= maxQuick
}

// isLoop reports whether m comes from a program that replies to our answers, and
// tells the program so once.
func (s *session) isLoop(m channels.Inbound) bool {
	if !m.Private && !m.Addressed {
		return false
	}
	silent, begins := s.ch.loops.received(m.Key.String()+" "+s.ch.Asker(m.MessageID), utf8.RuneCountInString(m.Text), time.Now())
	if begins {
		s.log.Warn("sender ignored: it replies faster than a person can", "key", m.Key.String(), "sender", m.Sender.ID())
		s.wg.Go(func() {
			if err := s.sendNow(context.Background(), channels.Outbound{Key: m.Key, Text: loopNotice, ReplyTo: m.MessageID}); err != nil {
				s.log.Debug("could not tell a sender that it is ignored", "err", err)
			}
		})
	}
	return silent
}

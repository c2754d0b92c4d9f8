package irc

import (
	"fmt"
	"strings"
	"time"

	"github.com/lrstanley/girc"

	"dragoman/channels"
)

// handlers maps each command to its handler; others are ignored. A NOTICE is never
// answered, since two programs that answer each other's notices never stop.
var handlers map[string]func(*session, *girc.Event)

func init() {
	handlers = map[string]func(*session, *girc.Event){
		"PING":  func(s *session, e *girc.Event) { s.push("PONG", e.Last()) },
		"PONG":  func(s *session, e *girc.Event) { s.confirmUpTo(e.Last()) },
		"ERROR": (*session).onError,

		"CAP": (*session).onCap, "AUTHENTICATE": (*session).onAuthenticate,
		"900": (*session).onLoggedIn, "903": (*session).onSASLDone,
		"902": (*session).onSASLFailed, "904": (*session).onSASLFailed, "905": (*session).onSASLFailed,
		"906": (*session).onSASLFailed, "908": (*session).onSASLFailed,

		"001": (*session).onWelcome, "005": (*session).onSupport,
		"376": (*session).onMotdEnd, "422": (*session).onMotdEnd,
		"396": (*session).onOwnHost, "464": (*session).onBadPassword, "465": (*session).onBanned,
		"432": (*session).onNickTaken, "433": (*session).onNickTaken,
		"436": (*session).onNickTaken, "437": (*session).onNickTaken,

		"JOIN": (*session).onJoin, "PART": (*session).onPart, "KICK": (*session).onKick,
		"QUIT": (*session).onQuit, "NICK": (*session).onNick, "INVITE": (*session).onInvite,
		"470":  (*session).onForward,
		"MODE": (*session).onMode, "ACCOUNT": (*session).onAccount, "CHGHOST": (*session).onChangeHost,
		"353": (*session).onNames, "354": (*session).onWhox, "352": (*session).onWho, "730": (*session).onOnline, "BATCH": (*session).onBatch,

		"311": (*session).onWhoisUser, "330": (*session).onWhoisAccount, "318": (*session).onWhoisEnd,

		"PRIVMSG": (*session).onMessage, "NOTICE": (*session).onNotice, "FAIL": (*session).onFail,
	}
	for numeric := range joinRefusals {
		handlers[numeric] = (*session).onJoinRefused
	}
	for numeric := range sendRefusals {
		if handlers[numeric] == nil { // onJoinRefused passes on those that may mean either.
			handlers[numeric] = (*session).onSendRefused
		}
	}
}

func (s *session) handle(e *girc.Event) {
	if h := handlers[e.Command]; h != nil {
		h(s, e)
	}
}

// param is the i-th parameter of e. It is "" if there are fewer, because servers
// leave out parameters at will.
func param(e *girc.Event, i int) string {
	if i < len(e.Params) {
		return e.Params[i]
	}
	return ""
}

// source is the sender of e; servers may leave it out.
func source(e *girc.Event) girc.Source {
	if e.Source == nil {
		return girc.Source{}
	}
	return *e.Source
}

func (s *session) fromMe(e *girc.Event) bool {
	return e.Source != nil && s.net.fold.same(e.Source.Name, s.me.nick)
}

func (s *session) onError(e *girc.Event) {
	reason := plain(e.Last())
	if s.quitting {
		s.end(fmt.Errorf("connection to %s: closed", s.ch.opts.Server))
		return
	}
	lower := strings.ToLower(reason)
	for _, word := range []string{"banned", "k-line", "kline", "g-line", "gline", "z-line", "zline", "dnsbl"} {
		if strings.Contains(lower, word) {
			s.end(refused("%s has banned us: %s", s.ch.opts.Server, reason))
			return
		}
	}
	s.end(fmt.Errorf("%s closed the connection: %s", s.ch.opts.Server, reason))
}

func (s *session) onBadPassword(*girc.Event) {
	s.end(fmt.Errorf("%s refused the server password: %w", s.ch.opts.Server, channels.ErrPermanent))
}

func (s *session) onBanned(e *girc.Event) {
	s.end(refused("%s has banned us: %s", s.ch.opts.Server, plain(e.Last())))
}

func (s *session) onWelcome(e *girc.Event) {
	s.me.nick = param(e, 0)
	s.net.started = e.Timestamp
	if s.phase == registering {
		s.phase = welcomed
	}
	s.login.welcomed = time.Now()
	if o := s.ch.opts; o.SASL.Required && s.login.account == "" {
		// Servers without capabilities reach the welcome without answering about SASL.
		s.end(refused("%s does not offer SASL %s, which is required here", o.Server, o.SASL.Mechanism))
	}
}

func (s *session) onSupport(e *girc.Event) {
	for _, token := range e.Params[min(1, len(e.Params)):] {
		name, value, _ := strings.Cut(token, "=")
		switch name {
		case "CASEMAPPING":
			s.net.fold = folder(strings.ToLower(value)) // before anything is joined
		case "CHANTYPES":
			if value != "" {
				s.net.chanTypes = value
			}
		case "WHOX":
			s.net.whox = true
		case "MONITOR":
			s.net.monitor = true
		case "BOT":
			s.net.botMode = value
		}
	}
}

// onMotdEnd handles the last line of the welcome.
func (s *session) onMotdEnd(*girc.Event) {
	if s.phase == welcomed {
		s.identify()
	}
}

// onBatch tracks batches of old messages, which we ignore, and of the lines of one
// message.
func (s *session) onBatch(e *girc.Event) {
	ref := param(e, 0)
	switch {
	case strings.HasPrefix(ref, "-"):
		delete(s.batches, ref[1:])
		s.endMultiline(ref[1:])
	case strings.HasPrefix(ref, "+"):
		_, nested := s.batches[e.Tags["batch"]]
		kind := param(e, 1)
		switch {
		case nested, strings.HasSuffix(kind, "chathistory"), strings.HasSuffix(kind, "playback"):
			s.batches[ref[1:]] = true
		case kind == multilineCap:
			s.beginMultiline(ref[1:], e)
		}
	}
}

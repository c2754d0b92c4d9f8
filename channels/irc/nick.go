package irc

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lrstanley/girc"

	"dragoman/channels"
)

// maxNickTries bounds how many nicks we try before we give the connection up and
// reconnect later.
const maxNickTries = 30

// self is our own nick, user name and host, as the network sees them.
type self struct {
	nick, user, host string
	triedAt          time.Time // when we last tried to get the configured nick back
}

// candidate is the n-th nick to try: the configured one, the alternatives, nick_,
// nick__, then the start of the nick with a number. The numbered ones are short,
// because a server that truncates nicks would make longer ones all alike.
func (o Options) candidate(n int) string {
	names := append([]string{o.Nick}, o.AltNicks...)
	names = append(names, o.Nick+"_", o.Nick+"__")
	if n < len(names) {
		return names[n]
	}
	number := strconv.Itoa(n - len(names) + 1)
	return o.Nick[:min(len(o.Nick), 9-len(number))] + number
}

// onNickTaken tries the next nick while we register. Afterwards it only means that
// our own nick is still taken.
func (s *session) onNickTaken(e *girc.Event) {
	if s.phase != registering {
		if e.Command == "437" && s.isChannel(param(e, 1)) {
			s.onJoinRefused(e)
		}
		return
	}
	if e.Command == "433" && s.login.triedNick == 0 && s.ch.opts.Shared && s.ch.yielded.CompareAndSwap(false, true) {
		s.end(fmt.Errorf("the nick %s is in use: %w", s.ch.opts.Nick, channels.ErrElsewhere))
		return
	}
	s.login.triedNick++
	if s.login.triedNick >= maxNickTries {
		s.end(refused("%s refused all of %d nicks, the last with: %s", s.ch.opts.Server, maxNickTries, plain(e.Last())))
		return
	}
	s.push("NICK", s.ch.opts.candidate(s.login.triedNick))
}

func (s *session) hasNick() bool { return s.net.fold.same(s.me.nick, s.ch.opts.Nick) }

// regain asks for the configured nick. The server replies with NICK or a refusal.
func (s *session) regain(now time.Time) {
	if s.hasNick() || s.phase != ready {
		return
	}
	s.me.triedAt = now
	s.spend()
	s.push("NICK", s.ch.opts.Nick)
}

func (s *session) tickNick(now time.Time) {
	if now.Sub(s.me.triedAt) > s.ch.opts.RegainEvery {
		s.regain(now)
	}
}

// regainByService asks the services once to free our nick.
func (s *session) regainByService() {
	ns := s.ch.opts.NickServ
	s.me.triedAt = time.Now()
	if s.hasNick() || ns.Regain == "" {
		return
	}
	// Send the password only if we are not logged in.
	words := []string{ns.Regain, s.ch.opts.Nick}
	if s.login.account == "" && ns.Password != "" {
		words = append(words, ns.Password)
	}
	s.push("PRIVMSG", ns.Nick, strings.Join(words, " "))
	s.regain(time.Now())
}

// nickFreed is called when somebody gave up a nick. If it is the one we want, we
// take it.
func (s *session) nickFreed(nick string) {
	if s.net.fold.same(nick, s.ch.opts.Nick) {
		s.regain(time.Now())
	}
}

// onOwnHost handles the network giving us another visible host.
func (s *session) onOwnHost(e *girc.Event) {
	host := param(e, 1)
	if user, h, ok := strings.Cut(host, "@"); ok {
		s.me.user, host = user, h
	}
	if host != "" {
		s.me.host = host
	}
}

// onMode looks for the user mode with which the services mark recognised nicks.
func (s *session) onMode(e *girc.Event) {
	if s.net.fold.same(param(e, 0), s.me.nick) && strings.HasPrefix(param(e, 1), "+") && strings.ContainsAny(param(e, 1), "rR") {
		s.identified()
	}
}

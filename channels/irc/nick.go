package irc

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lrstanley/girc"

	"dragoman/channels"
)

// maxNickTries bounds how many names we ask for before the connection is
// given up and made again later.
const maxNickTries = 30

// self is what the network calls us.
type self struct {
	nick, user, host string
	triedAt          time.Time // for our own nick, while we have another one
}

// candidate is the n-th name to try: the nick, the configured alternatives,
// nick_, nick__, then the nick's beginning with a number. The numbered ones are
// short, because a server that cuts names would make longer ones all alike.
func (o Options) candidate(n int) string {
	names := append([]string{o.Nick}, o.AltNicks...)
	names = append(names, o.Nick+"_", o.Nick+"__")
	if n < len(names) {
		return names[n]
	}
	number := strconv.Itoa(n - len(names) + 1)
	return o.Nick[:min(len(o.Nick), 9-len(number))] + number
}

// onNickTaken tries the next name while we register. Later it only means that
// our own is still held.
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

// hasNick reports whether we are called what we want to be called.
func (s *session) hasNick() bool { return s.net.fold.same(s.me.nick, s.ch.opts.Nick) }

// regain asks for our own name. The answer is a NICK or a refusal.
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

// regainByService lets the services throw out who holds our name, once.
func (s *session) regainByService() {
	ns := s.ch.opts.NickServ
	s.me.triedAt = time.Now()
	if s.hasNick() || ns.Regain == "" {
		return
	}
	// The password comes along only where no login vouches for us.
	words := []string{ns.Regain, s.ch.opts.Nick}
	if s.login.account == "" && ns.Password != "" {
		words = append(words, ns.Password)
	}
	s.push("PRIVMSG", ns.Nick, strings.Join(words, " "))
	s.regain(time.Now())
}

// freed is called when somebody gives a name up.
func (s *session) freed(nick string) {
	if s.net.fold.same(nick, s.ch.opts.Nick) {
		s.regain(time.Now())
	}
}

// onOwnHost is the network giving us another visible host.
func (s *session) onOwnHost(e *girc.Event) {
	host := param(e, 1)
	if user, h, ok := strings.Cut(host, "@"); ok {
		s.me.user, host = user, h
	}
	if host != "" {
		s.me.host = host
	}
}

// onMode looks for the services' mark on us.
func (s *session) onMode(e *girc.Event) {
	if s.net.fold.same(param(e, 0), s.me.nick) && strings.HasPrefix(param(e, 1), "+") && strings.ContainsAny(param(e, 1), "rR") {
		s.identified()
	}
}

package irc

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lrstanley/girc"
)

// whoxToken marks the answers to our own WHO requests.
const whoxToken = "417"

// maxPeers bounds how many people of private talks are remembered.
const maxPeers = 1000

// identity is what the network says about somebody beside the nick: it is how
// a person is known again under another nick, and a stranger under the same.
type identity struct {
	user, host string
	account    string // "" means not logged in, or not known
}

// same reports whether both are one person. Accounts decide where both are
// known; else the user name and host must be equal, and known.
func (a identity) same(b identity, f folder) bool {
	if a.account != "" && b.account != "" {
		return f.same(a.account, b.account)
	}
	return a.host != "" && a.user == b.user && strings.EqualFold(a.host, b.host)
}

// account reads the ways of saying "not logged in".
func account(s string) string {
	if s == "*" || s == "0" {
		return ""
	}
	return s
}

// user is somebody whom we share a channel with, so that the network tells us
// of every change of nick and when they go.
type user struct {
	identity
	nick  string
	rooms map[*room]bool
}

// sees notes that src is in r.
func (s *session) sees(src *girc.Source, r *room) *user {
	if src == nil || src.Name == "" {
		return nil
	}
	folded := s.net.fold.fold(src.Name)
	u := s.users[folded]
	if u == nil {
		u = &user{rooms: map[*room]bool{}}
		s.users[folded] = u
	}
	u.nick = src.Name
	u.rooms[r] = true
	if src.Host != "" {
		u.user, u.host = src.Ident, src.Host
	}
	return u
}

// loses notes that nick is no longer in r. Without a channel in common the
// network tells us nothing about them any more.
func (s *session) loses(nick string, r *room) {
	folded := s.net.fold.fold(nick)
	u := s.users[folded]
	if u == nil {
		return
	}
	if delete(u.rooms, r); len(u.rooms) == 0 {
		delete(s.users, folded)
	}
}

func (s *session) onQuit(e *girc.Event) {
	nick := source(e).Name
	delete(s.users, s.net.fold.fold(nick))
	s.ch.people.quit(nick, s.net.fold)
	s.freed(nick)
}

func (s *session) onNick(e *girc.Event) {
	was, is := source(e).Name, param(e, 0)
	if is == "" || was == "" {
		return
	}
	if s.fromMe(e) {
		s.me.nick = is
		s.log.Info("nick changed", "nick", is)
		s.report()
		return
	}
	f := s.net.fold
	if u := s.users[f.fold(was)]; u != nil {
		delete(s.users, f.fold(was))
		u.nick = is
		s.users[f.fold(is)] = u
	}
	s.ch.people.renamed(was, is, f)
	s.freed(was)
}

func (s *session) onAccount(e *girc.Event) {
	if s.fromMe(e) {
		if s.login.account = account(param(e, 0)); s.login.account != "" {
			s.identified()
		}
		return
	}
	if u := s.users[s.net.fold.fold(source(e).Name)]; u != nil {
		u.account = account(param(e, 0))
	}
}

func (s *session) onChangeHost(e *girc.Event) {
	nick, name, host := source(e).Name, param(e, 0), param(e, 1)
	if s.fromMe(e) {
		s.me.user, s.me.host = name, host
		return
	}
	if u := s.users[s.net.fold.fold(nick)]; u != nil {
		u.user, u.host = name, host
	}
	s.ch.people.moved(nick, name, host, s.net.fold)
}

// onNames learns who is in a channel when we come in.
func (s *session) onNames(e *girc.Event) {
	r := s.rooms[s.net.fold.fold(param(e, 2))]
	if r == nil {
		return
	}
	for _, name := range strings.Fields(e.Last()) {
		s.sees(girc.ParseSource(strings.TrimLeft(name, "~&@%+!.")), r)
	}
}

// onWhox learns accounts: token, user, host, nick, account.
func (s *session) onWhox(e *girc.Event) {
	if param(e, 1) != whoxToken || len(e.Params) < 6 {
		return
	}
	if u := s.users[s.net.fold.fold(param(e, 4))]; u != nil {
		u.identity = identity{user: param(e, 2), host: param(e, 3), account: account(param(e, 5))}
	}
}

// onWho learns who those are whom NAMES only named: channel, user, host,
// server, nick.
func (s *session) onWho(e *girc.Event) {
	if u := s.users[s.net.fold.fold(param(e, 5))]; u != nil && len(e.Params) >= 6 {
		u.user, u.host = param(e, 2), param(e, 3)
	}
}

// peer is a person who has talked to us in private.
type peer struct {
	identity
	mask string // as they were called when they wrote
	chat string // under whose key they wrote, or were answered, last
	nick string // now, as far as we know
	gone bool   // we saw them leave, or somebody else under their nick
	seen time.Time
	// found is the ReplyTo of the answer that they were looked up for: its
	// further lines ask no more.
	found string
	// Not found: how often in a row, and when to look again.
	missed int
	lookAt time.Time
}

// isAt notes that the person is called nick now.
func (p *peer) isAt(nick string) {
	p.nick, p.gone, p.seen, p.missed, p.lookAt = nick, false, time.Now(), 0, time.Time{}
}

// Between two look-ups of a person who was not found.
const (
	lookAgain     = 30 * time.Second
	lookAgainMost = 30 * time.Minute
)

// isMissing plans the next look-up.
func (p *peer) isMissing() {
	p.gone, p.found = true, ""
	p.lookAt = time.Now().Add(min(lookAgain<<min(p.missed, 10), lookAgainMost))
	p.missed++
}

// people remembers peers over reconnects: who wrote or was answered last is the
// last of them.
type people struct{ all []*peer }

// of is the peer who wrote as nick with that identity, a new one if they are not
// known, for talk under chat's key.
func (p *people) of(chat, nick string, id identity) *peer {
	mask := maskOf(nick, id)
	i := slices.IndexFunc(p.all, func(who *peer) bool { return who.mask == mask && who.identity.same(id, foldRFC) })
	who := &peer{identity: id, nick: nick, mask: mask}
	if i >= 0 {
		who = p.all[i]
		p.all = slices.Delete(p.all, i, i+1)
	}
	who.chat = chat
	p.all = append(p.all[max(0, len(p.all)+1-maxPeers):], who)
	return who
}

// wrote notes that somebody has just written to us under chat's key.
func (p *people) wrote(chat, nick string, id identity) {
	who := p.of(chat, nick, id)
	who.identity = id
	who.isAt(nick)
	// Whoever is awaited under an older name is here.
	for _, old := range p.all {
		if old.gone && old.identity.same(id, foldRFC) {
			old.isAt(nick)
		}
	}
}

// find is whom an answer is for: the writer of the message it replies to. Where
// it says none, it is who wrote or was answered last under the key, or nobody we
// know.
func (p *people) find(replyTo, chat string) *peer {
	if nick, id, ok := parseHandle(replyTo); ok {
		return p.of(chat, nick, id)
	}
	for _, who := range slices.Backward(p.all) {
		if who.chat == chat {
			return who
		}
	}
	return nil
}

// called are those who are called nick now.
func (p *people) called(nick string, fold folder) (them []*peer) {
	for _, who := range p.all {
		if !who.gone && fold.same(who.nick, nick) {
			them = append(them, who)
		}
	}
	return them
}

func (p *people) quit(nick string, fold folder) {
	for _, who := range p.called(nick, fold) {
		who.gone = true
	}
}

func (p *people) renamed(was, is string, fold folder) {
	them := p.called(was, fold)
	p.quit(is, fold) // whoever is remembered under the new nick has lost it
	for _, who := range them {
		who.nick, who.gone = is, false
	}
}

func (p *people) moved(nick, name, host string, fold folder) {
	for _, who := range p.called(nick, fold) {
		who.user, who.host = name, host
	}
}

// onOnline is what MONITOR tells of people who were missing: they are looked up
// at once.
func (s *session) onOnline(e *girc.Event) {
	for mask := range strings.SplitSeq(e.Last(), ",") {
		nick, _, _ := strings.Cut(mask, "!")
		for _, who := range s.ch.people.all {
			if s.net.fold.same(who.nick, nick) {
				who.lookAt = time.Time{}
			}
		}
	}
}

// doubt makes everybody be looked up before the next answer: while we were
// away the network told us nothing.
func (p *people) doubt() {
	for _, who := range p.all {
		who.seen, who.found, who.lookAt, who.missed = time.Time{}, "", time.Time{}, 0
	}
}

func maskOf(nick string, id identity) string { return nick + "!" + id.user + "@" + id.host }

// handle is the MessageID of a message. It says who wrote it, so that an answer
// finds the same person after a change of nick or a restart, and not a
// stranger under the old nick.
func handle(nick string, id identity, message string) string {
	return maskOf(nick, id) + " " + cmp.Or(id.account, "*") + " " + message
}

func parseHandle(s string) (nick string, id identity, ok bool) {
	fields := strings.Split(s, " ")
	if len(fields) != 3 {
		return "", identity{}, false
	}
	nick, rest, found := strings.Cut(fields[0], "!")
	name, host, found2 := strings.Cut(rest, "@")
	if !found || !found2 || nick == "" {
		return "", identity{}, false
	}
	return nick, identity{user: name, host: host, account: account(fields[1])}, true
}

package irc

import (
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

// people remembers peers over reconnects.
type people struct {
	byMask   map[string]*peer // as they were called when they wrote
	byChat   map[string]*peer // who wrote last under a key
	answered map[string]*peer // whom the last answer with a ReplyTo under a key was for
}

func newPeople() *people {
	return &people{byMask: map[string]*peer{}, byChat: map[string]*peer{}, answered: map[string]*peer{}}
}

// all is for going through everybody; some are in it more than once.
func (p *people) all() []map[string]*peer {
	return []map[string]*peer{p.byMask, p.byChat, p.answered}
}

// wrote notes that somebody has just written to us under chat's key.
func (p *people) wrote(chat, nick string, id identity, now time.Time) {
	if len(p.byMask) >= maxPeers {
		p.forgetOldest()
	}
	mask := maskOf(nick, id)
	who := p.byMask[mask]
	if who == nil || !who.identity.same(id, foldRFC) {
		who = &peer{}
		p.byMask[mask] = who
	}
	who.identity = id
	who.isAt(nick)
	who.seen = now
	p.byChat[chat] = who
	// Whoever is awaited under an older name is here.
	for _, m := range p.all() {
		for _, old := range m {
			if old.gone && old.identity.same(id, foldRFC) {
				old.isAt(nick)
			}
		}
	}
}

func (p *people) forgetOldest() {
	var oldest *peer
	for _, who := range p.byMask {
		if oldest == nil || who.seen.Before(oldest.seen) {
			oldest = who
		}
	}
	for _, m := range p.all() {
		for k, who := range m {
			if who == oldest {
				delete(m, k)
			}
		}
	}
}

// find is whom an answer is for: the writer of the message it replies to. Only
// the first piece of an answer says that, so the pieces after it go to the
// same person. Where no answer under the key ever said, it is the last who
// wrote, or nobody we know.
func (p *people) find(replyTo, chat string) *peer {
	nick, id, ok := parseHandle(replyTo)
	switch {
	case !ok && p.answered[chat] != nil:
		return p.answered[chat]
	case !ok:
		return p.byChat[chat]
	}
	who := p.byMask[maskOf(nick, id)]
	if who == nil || !who.identity.same(id, foldRFC) {
		who = &peer{identity: id, nick: nick} // From before a restart.
		p.byMask[maskOf(nick, id)] = who
	}
	p.answered[chat] = who
	return who
}

// each calls f for everybody who is called nick now, once or more often.
func (p *people) each(nick string, fold folder, f func(*peer)) {
	for _, m := range p.all() {
		for _, who := range m {
			if !who.gone && fold.same(who.nick, nick) {
				f(who)
			}
		}
	}
}

func (p *people) quit(nick string, fold folder) {
	p.each(nick, fold, func(who *peer) { who.gone = true })
}

func (p *people) renamed(was, is string, fold folder) {
	var them []*peer
	p.each(was, fold, func(who *peer) { them = append(them, who) })
	// Whoever is remembered under the new nick has lost it.
	p.each(is, fold, func(who *peer) { who.gone = true })
	for _, who := range them {
		who.nick, who.gone = is, false
	}
}

func (p *people) moved(nick, name, host string, fold folder) {
	p.each(nick, fold, func(who *peer) { who.user, who.host = name, host })
}

// appeared makes everybody who was called nick be looked up at once.
func (p *people) appeared(nick string, fold folder) {
	for _, m := range p.all() {
		for _, who := range m {
			if fold.same(who.nick, nick) {
				who.lookAt = time.Time{}
			}
		}
	}
}

// onOnline is what MONITOR tells of people who were missing.
func (s *session) onOnline(e *girc.Event) {
	for mask := range strings.SplitSeq(e.Last(), ",") {
		nick, _, _ := strings.Cut(mask, "!")
		s.ch.people.appeared(nick, s.net.fold)
	}
}

// doubt makes everybody be looked up before the next answer: while we were
// away the network told us nothing.
func (p *people) doubt() {
	for _, m := range p.all() {
		for _, who := range m {
			who.seen, who.found, who.lookAt, who.missed = time.Time{}, "", time.Time{}, 0
		}
	}
}

func maskOf(nick string, id identity) string { return nick + "!" + id.user + "@" + id.host }

// handle is the MessageID of a message. It says who wrote it, so that an answer
// finds the same person after a change of nick or a restart, and not a
// stranger under the old nick.
func handle(nick string, id identity, message string) string {
	acct := id.account
	if acct == "" {
		acct = "*"
	}
	return maskOf(nick, id) + " " + acct + " " + message
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

package irc

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lrstanley/girc"
)

// whoxToken marks the replies to our own WHO requests.
const whoxToken = "417"

// maxPeers bounds how many people from private chats we remember.
const maxPeers = 1000

// identity is what the network says about a user apart from the nick. By it we
// recognise a person under another nick, and a stranger under the same nick.
type identity struct {
	user, host string
	account    string // "": not logged in, or unknown
}

// same reports whether both are one person: by account if both are known, else by
// equal user name and host, which must be known.
func (a identity) same(b identity, f folder) bool {
	if a.account != "" && b.account != "" {
		return f.same(a.account, b.account)
	}
	return a.host != "" && a.user == b.user && strings.EqualFold(a.host, b.host)
}

// account returns the account that s names, "" for the ways of saying "not logged in".
func account(s string) string {
	if s == "*" || s == "0" {
		return ""
	}
	return s
}

// user is somebody in one of our channels. The network tells us when they change
// their nick or leave.
type user struct {
	identity
	nick  string
	rooms map[*room]bool
}

func (s *session) addMember(src *girc.Source, r *room) *user {
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

// removeMember notes that nick has left r. We forget users with whom we share no
// channel, because the network no longer tells us of their changes.
func (s *session) removeMember(nick string, r *room) {
	folded := s.net.fold.fold(nick)
	if u := s.users[folded]; u != nil {
		delete(u.rooms, r)
		if len(u.rooms) == 0 {
			delete(s.users, folded)
		}
	}
}

func (s *session) onQuit(e *girc.Event) {
	nick := source(e).Name
	delete(s.users, s.net.fold.fold(nick))
	s.ch.people.quit(nick, s.net.fold)
	s.nickFreed(nick)
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
	s.nickFreed(was)
}

func (s *session) onAccount(e *girc.Event) {
	if s.fromMe(e) {
		s.login.account = account(param(e, 0))
		if s.login.account != "" {
			s.identified()
		}
		return
	}
	if u := s.users[s.net.fold.fold(source(e).Name)]; u != nil {
		u.account = account(param(e, 0))
	}
}

func (s *session) onChangeHost(e *girc.Event) {
	nick := source(e).Name
	name := param(e, 0)
	host := param(e, 1)
	if s.fromMe(e) {
		s.me.user, s.me.host = name, host
		return
	}
	if u := s.users[s.net.fold.fold(nick)]; u != nil {
		u.user, u.host = name, host
	}
	s.ch.people.hostChanged(nick, name, host, s.net.fold)
}

// onNames handles a part of the list of who is in a channel, which the server
// sends when we join. The marks before a nick are ranks.
func (s *session) onNames(e *girc.Event) {
	r := s.rooms[s.net.fold.fold(param(e, 2))]
	if r == nil {
		return
	}
	for _, name := range strings.Fields(e.Last()) {
		s.addMember(girc.ParseSource(strings.TrimLeft(name, "~&@%+!.")), r)
	}
}

// onWhox learns accounts. Its parameters are token, user, host, nick, account.
func (s *session) onWhox(e *girc.Event) {
	if param(e, 1) != whoxToken || len(e.Params) < 6 {
		return
	}
	if u := s.users[s.net.fold.fold(param(e, 4))]; u != nil {
		u.identity = identity{user: param(e, 2), host: param(e, 3), account: account(param(e, 5))}
	}
}

// onWho learns the hosts that NAMES left out. Its parameters are channel, user,
// host, server, nick.
func (s *session) onWho(e *girc.Event) {
	if u := s.users[s.net.fold.fold(param(e, 5))]; u != nil && len(e.Params) >= 6 {
		u.user, u.host = param(e, 2), param(e, 3)
	}
}

// peer is a person who has talked to us in private.
type peer struct {
	identity
	mask string    // nick!user@host when they wrote
	chat string    // of the key under which they last wrote or were answered
	nick string    // now, as far as we know
	gone bool      // we saw them leave, or somebody else under their nick
	seen time.Time // when we last saw them under nick
	// found is the ReplyTo of the answer for which a WHOIS found them. The later
	// lines of that answer need no other.
	found  string
	missed int       // failed look-ups in a row
	lookAt time.Time // when to look them up again after a failure
}

// foundAs notes that the person has this nick now.
func (p *peer) foundAs(nick string) {
	p.nick = nick
	p.gone = false
	p.seen = time.Now()
	p.missed = 0
	p.lookAt = time.Time{}
}

// Waits between look-ups of a person who was not found: the first is lookAgain, and
// each is twice as long as the one before, up to lookAgainMax.
const (
	lookAgain    = 30 * time.Second
	lookAgainMax = 30 * time.Minute
)

// markMissing notes a failed look-up and schedules the next.
func (p *peer) markMissing() {
	p.gone, p.found = true, ""
	p.lookAt = time.Now().Add(min(lookAgain<<min(p.missed, 10), lookAgainMax))
	p.missed++
}

// people remembers peers across reconnects, in the order in which they last wrote
// or were answered.
type people struct{ all []*peer }

// peerFor returns the peer who wrote as nick with that identity, a new one if
// unknown, and moves them to the end under chat.
func (p *people) peerFor(chat, nick string, id identity) *peer {
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

func (p *people) wrote(chat, nick string, id identity) {
	who := p.peerFor(chat, nick, id)
	who.identity = id
	who.foundAs(nick)
	// A peer with this identity that was gone under an older nick is back.
	for _, old := range p.all {
		if old.gone && old.identity.same(id, foldRFC) {
			old.foundAs(nick)
		}
	}
}

// find returns the person an answer is for: the writer of the message it replies
// to, or if it replies to none, the one who last wrote or was answered in chat; nil
// if there is none.
func (p *people) find(replyTo, chat string) *peer {
	if nick, id, ok := parseHandle(replyTo); ok {
		return p.peerFor(chat, nick, id)
	}
	for _, who := range slices.Backward(p.all) {
		if who.chat == chat {
			return who
		}
	}
	return nil
}

// withNick leaves out people who have gone: somebody else may have their nick by
// now.
func (p *people) withNick(nick string, fold folder) (them []*peer) {
	for _, who := range p.all {
		if !who.gone && fold.same(who.nick, nick) {
			them = append(them, who)
		}
	}
	return them
}

func (p *people) quit(nick string, fold folder) {
	for _, who := range p.withNick(nick, fold) {
		who.gone = true
	}
}

func (p *people) renamed(was, is string, fold folder) {
	them := p.withNick(was, fold)
	p.quit(is, fold) // peers remembered under the new nick no longer have it
	for _, who := range them {
		who.nick, who.gone = is, false
	}
}

func (p *people) hostChanged(nick, name, host string, fold folder) {
	for _, who := range p.withNick(nick, fold) {
		who.user, who.host = name, host
	}
}

// onOnline handles MONITOR's news that a missing nick is online: it may be looked
// up at once.
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

// forgetSightings makes us look everybody up before the next answer: while we were
// disconnected the network told us of no changes.
func (p *people) forgetSightings() {
	for _, who := range p.all {
		who.seen = time.Time{}
		who.found = ""
		who.lookAt = time.Time{}
		who.missed = 0
	}
}

func maskOf(nick string, id identity) string { return nick + "!" + id.user + "@" + id.host }

// formatHandle makes the MessageID of a message. It holds the writer's identity, so
// that an answer finds the same person after a change of nick or a restart, and
// never a stranger under the old nick.
func formatHandle(nick string, id identity, message string) string {
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

package irc

import (
	"strings"
	"time"

	"github.com/lrstanley/girc"

	"dragoman/channels"
)

// onMessage hands in what people say. What it leaves out, it leaves out for
// good: our own echoes, old messages played back, CTCP requests (answering
// them tells strangers about us and can be made to loop), channels where
// nobody sent us.
func (s *session) onMessage(e *girc.Event) {
	src := source(e)
	switch {
	case s.partOf(e), len(e.Params) < 2, src.Name == "":
		return
	case s.fromMe(e):
		s.confirmEcho(param(e, 0), e.Last())
		return
	case isBot(e):
		return // Two programs that answer each other never stop.
	case s.batches[e.Tags["batch"]], src.Ident == "" && src.Host == "" && strings.Contains(src.Name, "."):
		return // Playback; or the server itself.
	}
	text, action, ok := spoken(e.Last())
	if !ok {
		return
	}
	if u := s.users[s.net.fold.fold(src.Name)]; u != nil && src.Host != "" {
		u.user, u.host = src.Ident, src.Host
	}
	id := s.identityOf(e)
	m := channels.Inbound{
		Sender: channels.Person{IDs: s.personIDs(src.Name, id), Name: src.Name},
		At:     e.Timestamp,
	}
	if tag := e.Tags["msgid"]; tag != "" && len(tag) <= 200 {
		m.ID = msgidPrefix + tag
	} else {
		m.ID = s.ch.newID()
	}
	m.MessageID = handle(src.Name, id, m.ID)
	if action {
		text = "* " + src.Name + " " + text
	}
	if name := param(e, 0); s.isChannel(name) {
		s.fromRoom(e, m, name, text, action)
	} else if s.net.fold.same(name, s.me.nick) {
		s.fromPerson(e, m, id, text)
	}
}

// msgidPrefix begins the ids that the network gave.
const msgidPrefix = "msgid-"

// isBot reports whether the network says that a program sent e.
func isBot(e *girc.Event) bool {
	for _, tag := range []string{"bot", "draft/bot", "inspircd.org/bot"} {
		if _, ok := e.Tags[tag]; ok {
			return true
		}
	}
	return false
}

// spoken is the text of a message, and whether it was a "/me".
func spoken(raw string) (text string, action, ok bool) {
	if strings.HasPrefix(raw, "\x01") {
		body, found := strings.CutPrefix(strings.Trim(raw, "\x01"), "ACTION ")
		if !found {
			return "", false, false
		}
		raw, action = body, true
	}
	text = plain(raw)
	return text, action, text != ""
}

// old reports whether e was said before since, by the same clock.
func old(e *girc.Event, since time.Time) bool {
	_, tagged := e.Tags["time"]
	return tagged && e.Timestamp.Before(since)
}

// talks is how long after a line of ours "!stop" needs no name before it.
const talks = 10 * time.Second

func (s *session) fromRoom(e *girc.Event, m channels.Inbound, name, text string, action bool) {
	r := s.rooms[s.net.fold.fold(name)]
	if r == nil || !r.joined || old(e, r.since) {
		return
	}
	r.tries = 0 // Whoever lets us listen has forgiven us.
	if !action {
		text, m.Addressed = channels.SpokenTo(text, []string{s.me.nick, s.ch.opts.Nick}, s.net.fold.same)
		m.Prefix = m.Sender.Name + ": "
	}
	m.Addressed = r.goesOn(m, text, m.Addressed || s.ch.opts.Everything)
	chat := s.net.fold.fold(name)
	if strings.EqualFold(text, "!more") && s.more(chat, m.MessageID) {
		return
	}
	if strings.EqualFold(text, "!stop") && time.Since(r.latestAt) < talks {
		m.Addressed = true
	}
	if m.Addressed {
		text = command(text, s.ch.commands)
	}
	m.Text = text
	s.handOn(m, chat)
}

func (s *session) fromPerson(e *girc.Event, m channels.Inbound, id identity, text string) {
	if old(e, s.net.started) {
		return
	}
	chat := s.net.fold.fold(m.Sender.Name)
	s.ch.people.wrote(chat, m.Sender.Name, id)
	m.Private = true
	m.Text = command(text, s.ch.commands)
	s.handOn(m, chat)
}

// handOn queues m under the key of chat. A name that no key can have (it is
// not UTF-8) is refused rather than changed, since two changed names could
// become one conversation.
func (s *session) handOn(m channels.Inbound, chat string) {
	k, err := channels.NewKey(s.ch.name, chat)
	if err != nil {
		s.log.Error("message dropped: its sender or channel has a name that cannot be a key", "msg_id", m.ID, "err", err)
		return
	}
	m.Key = k
	if s.looping(m) {
		return
	}
	m.Album = "lines of " + s.net.fold.fold(m.Sender.Name)
	s.intake.put(m)
}

const (
	// linePause is how long after a line its writer may go on with the same
	// question, fullPause the same for a line that their client has probably
	// cut, because it has longLine bytes or more.
	linePause = 1500 * time.Millisecond
	fullPause = 3 * time.Second
	longLine  = 350
)

// Pause implements [channels.Pauser].
func (c *Channel) Pause(m channels.Inbound) time.Duration {
	if len(m.Text) >= longLine {
		return fullPause
	}
	return linePause
}

// goesOn reports whether m, a line in r, is meant for us: it addresses us, or
// it is the rest of a question whose first line did and was as long as a line
// can be.
func (r *room) goesOn(m channels.Inbound, text string, addressed bool) bool {
	now := time.Now()
	same := r.cutBy == m.Sender.Name && now.Sub(r.cutAt) <= fullPause
	switch {
	case (addressed || same) && len(text) >= longLine:
		r.cutBy, r.cutAt = m.Sender.Name, now
	case same:
		r.cutBy = ""
	}
	return addressed || same
}

// identityOf is what the network says about the sender of e. Where it tags
// messages with accounts, no tag means not logged in; else what joins, account
// changes and WHO have told us about people in our channels counts.
func (s *session) identityOf(e *girc.Event) identity {
	id := identity{user: e.Source.Ident, host: e.Source.Host}
	if s.net.caps["account-tag"] {
		id.account = account(e.Tags["account"])
	} else if u := s.users[s.net.fold.fold(e.Source.Name)]; u != nil {
		id.account = u.account
	}
	return id
}

// personIDs are the identities that allow lists may name. A nick is none.
func (s *session) personIDs(nick string, id identity) []string {
	var ids []string
	if id.account != "" {
		ids = append(ids, "account:"+s.net.fold.fold(id.account))
	}
	if id.user != "" && id.host != "" {
		ids = append(ids, "mask:"+s.net.fold.fold(nick)+"!"+id.user+"@"+strings.ToLower(id.host))
	}
	return ids
}

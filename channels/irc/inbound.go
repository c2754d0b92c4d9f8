package irc

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"dragoman/channels"

	"github.com/lrstanley/girc"
)

// onMessage hands people's messages to the intake. It ignores our own echoes, old
// messages played back, CTCP requests (answering tells strangers about us and can
// be made to loop), and channels that are not configured.
func (s *session) onMessage(e *girc.Event) {
	src := source(e)
	switch {
	case s.addToMultiline(e), len(e.Params) < 2, src.Name == "":
		return
	case s.fromMe(e):
		s.confirmEcho(param(e, 0), e.Last())
		return
	case isBot(e) && !s.isBridge(src.Name):
		return // Two programs that answer each other never stop.
	case s.batches[e.Tags["batch"]], src.Ident == "" && src.Host == "" && strings.Contains(src.Name, "."):
		return // Played back, or from the server itself.
	}
	text, action, ok := messageText(e.Last())
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
	m.MessageID = formatHandle(src.Name, id, m.ID)
	if action {
		text = "* " + src.Name + " " + text
	}
	if name := param(e, 0); s.isChannel(name) {
		m, text = s.unbridge(m, src, text)
		s.fromRoom(e, m, name, text, action)
	} else if s.net.fold.same(name, s.me.nick) {
		s.fromPerson(e, m, id, text)
	}
}

// msgidPrefix marks ids that the network assigned.
const msgidPrefix = "msgid-"

func isBot(e *girc.Event) bool {
	for _, tag := range []string{"bot", "draft/bot", "inspircd.org/bot"} {
		if _, ok := e.Tags[tag]; ok {
			return true
		}
	}
	return false
}

// messageText returns the text of a message and whether it was a "/me". ok is
// false for other CTCP requests and for messages without visible text.
func messageText(raw string) (text string, action, ok bool) {
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

// sentBefore reports whether e was sent before since, by the server's clock.
func sentBefore(e *girc.Event, since time.Time) bool {
	_, tagged := e.Tags["time"]
	return tagged && e.Timestamp.Before(since)
}

// bareStopTime is how long after a line of ours a "!stop" need not name us.
const bareStopTime = 10 * time.Second

func (s *session) fromRoom(e *girc.Event, m channels.Inbound, name, text string, action bool) {
	r := s.rooms[s.net.fold.fold(name)]
	if r == nil || !r.joined || sentBefore(e, r.since) {
		return
	}
	r.tries = 0 // The channel lets us in: rejoin soon after the next kick.
	if !action {
		text, m.Addressed = channels.SpokenTo(text, []string{s.me.nick, s.ch.opts.Nick}, s.net.fold.same)
		m.Prefix = m.Sender.Name + ": "
	}
	named := m.Addressed
	m.Addressed = r.isForUs(m, text, named || s.ch.opts.Everything)
	chat := s.net.fold.fold(name)
	if strings.EqualFold(text, "!more") && s.startMore(chat, m.MessageID) {
		return
	}
	if strings.EqualFold(text, "!stop") && time.Since(r.lastSentAt) < bareStopTime {
		m.Addressed = true
	}
	if m.Addressed {
		text = command(text, *s.ch.commands.Load(), named)
	}
	m.Text = text
	s.toIntake(m, chat)
}

func (s *session) fromPerson(e *girc.Event, m channels.Inbound, id identity, text string) {
	if sentBefore(e, s.net.started) {
		return
	}
	chat := s.net.fold.fold(m.Sender.Name)
	s.ch.people.wrote(chat, m.Sender.Name, id)
	m.Private = true
	m.Text = command(text, *s.ch.commands.Load(), true)
	s.toIntake(m, chat)
}

// toIntake queues m under the key of chat. It drops a message whose sender or
// channel has a name that is not UTF-8: a changed name could be that of another
// conversation.
func (s *session) toIntake(m channels.Inbound, chat string) {
	k, err := channels.NewKey(s.ch.name, chat)
	if err != nil {
		s.log.Error("message dropped: its sender or channel has an unusable name", "msg_id", m.ID, "err", err)
		return
	}
	m.Key = k
	if s.isLoop(m) {
		return
	}
	m.Album = "lines of " + s.net.fold.fold(m.Sender.Name)
	s.intake.put(m)
}

const (
	// linePause is how long after a line its writer's next line still belongs to
	// the same question. fullPause replaces it after a line of longLine bytes or
	// more, which the client has probably cut.
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

// isForUs reports whether m, a line in r, is meant for us: it addresses us, or it
// continues a question to us whose last line the client has probably cut.
func (r *room) isForUs(m channels.Inbound, text string, addressed bool) bool {
	now := time.Now()
	same := r.longLineBy == m.Sender.Name && now.Sub(r.longLineAt) <= fullPause
	switch {
	case (addressed || same) && len(text) >= longLine:
		r.longLineBy, r.longLineAt = m.Sender.Name, now
	case same:
		r.longLineBy = ""
	}
	return addressed || same
}

// identityOf returns what the network says about the sender of e. If it tags
// messages with accounts, no tag means not logged in. Otherwise the account is
// what JOIN, ACCOUNT and WHO have told us about people in our channels.
func (s *session) identityOf(e *girc.Event) identity {
	id := identity{user: e.Source.Ident, host: e.Source.Host}
	if s.net.caps["account-tag"] {
		id.account = account(e.Tags["account"])
	} else if u := s.users[s.net.fold.fold(e.Source.Name)]; u != nil {
		id.account = u.account
	}
	return id
}

// personIDs are the identities that allow lists may name. A nick is not one.
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

// intakeCapacity is how many messages may wait for the store. Only a busy network
// and a store that is down for minutes fill it.
const intakeCapacity = 1024

// drainTime is how long queued messages may still be stored after Run's context ends.
const drainTime = time.Second

// intake hands messages to the gateway, one after the other, so that the loop,
// which must answer the server's PINGs, never waits for a disk.
type intake struct {
	in      channels.Intake
	log     *slog.Logger
	queue   chan channels.Inbound
	dropped int // only the loop counts
}

// put never blocks. When the queue is full it drops m and logs an error, because
// IRC cannot be told to wait.
func (q *intake) put(m channels.Inbound) {
	select {
	case q.queue <- m:
	default:
		q.dropped++
		q.log.Error("message dropped: the store refused it for too long", "key", m.Key.String(), "dropped", q.dropped)
	}
}

// run works until the queue is closed. Messages still queued when ctx ends are lost.
func (q *intake) run(ctx context.Context) {
	lost := 0
	for m := range q.queue {
		if !q.acceptWithRetry(ctx, m) {
			lost++
		}
	}
	if lost > 0 {
		q.log.Error("messages lost at shutdown: the store refused them", "dropped", lost)
	}
}

// acceptWithRetry returns false only if ctx ended before m was stored. IRC never
// repeats a message, so giving up earlier would lose it.
func (q *intake) acceptWithRetry(ctx context.Context, m channels.Inbound) bool {
	for tries := (channels.Backoff{Least: 50 * time.Millisecond, Most: 5 * time.Second}); ctx.Err() == nil; {
		err := q.in.Accept(ctx, m)
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			q.log.Warn("message not accepted; will try again", "key", m.Key.String(), "msg_id", m.ID, "err", err)
			channels.Sleep(ctx, tries.Next())
		}
	}
	return false
}

package irc

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lrstanley/girc"

	"dragoman/channels"
)

// fresh is how long the last sign of life under a nick is proof enough that
// it still belongs to the same person. Where we share no channel the network
// tells us nothing about changes, so afterwards we ask, once an answer.
const fresh = 5 * time.Second

// freshAnswer is the same for the further lines of one answer.
const freshAnswer = time.Minute

// lookupTime is how long a WHOIS may stay without its end.
const lookupTime = 15 * time.Second

// inquiry is a WHOIS that waits for its answer.
type inquiry struct {
	at    time.Time
	found bool
	identity
	nick    string
	waiting []chan inquiry
}

// aim finds out where m goes. The answer to a person follows them to a new
// nick and never goes to somebody who took the old one: as long as they
// cannot be found the error is temporary, because people come back.
func (s *session) aim(ctx context.Context, m channels.Outbound) (target string, r *room, err error) {
	var (
		who    *peer
		answer chan inquiry
	)
	if !s.do(ctx, func() {
		switch name := m.Key.Chat(); {
		case s.phase != ready:
			err = &channels.NotSent{Err: errNotConnected}
		case s.isChannel(name):
			target, r, err = s.aimRoom(name)
		case !validTarget(name):
			err = fmt.Errorf("irc: send to %s: %w: that cannot be a nick", m.Key, channels.ErrPermanent)
		default:
			target, who = s.aimPerson(m.ReplyTo, name)
			switch {
			case target != "":
			case time.Now().Before(who.lookAt):
				err = notSent("send to %s: the person is not on the network", who.nick)
			default:
				answer = s.ask(who.nick)
			}
		}
	}) {
		return "", nil, &channels.NotSent{Err: errNotConnected}
	}
	if err != nil || target != "" {
		return target, r, err
	}
	select {
	case q := <-answer:
		if !s.do(ctx, func() {
			if target, err = s.judge(who, q); err == nil {
				who.found = m.ReplyTo
			}
		}) {
			return "", nil, &channels.NotSent{Err: errNotConnected}
		}
		return target, nil, err
	case <-ctx.Done():
		return "", nil, notSent("send to %s: %w", m.Key, context.Cause(ctx))
	}
}

func (s *session) aimRoom(name string) (string, *room, error) {
	r := s.rooms[s.net.fold.fold(name)]
	switch {
	case r == nil:
		return "", nil, fmt.Errorf("irc: send to %s: %w: it is not among the configured channels", name, channels.ErrPermanent)
	case !r.joined && r.kicked:
		return "", nil, notSent("send to %s: %w: %s", name, channels.ErrRemoved, r.whyNot())
	case !r.joined:
		return "", nil, notSent("send to %s: not in the channel: %s", name, r.whyNot())
	}
	return r.name, r, nil
}

// aimPerson returns the nick to write to, or "" and whom to look up. Somebody
// who has never written is only a nick, such as the target of a heartbeat.
func (s *session) aimPerson(replyTo, chat string) (string, *peer) {
	f := s.net.fold
	who := s.ch.people.find(replyTo, f.fold(chat))
	if who == nil {
		return chat, nil
	}
	if u := s.users[f.fold(who.nick)]; u != nil && u.host != "" {
		if who.identity.same(u.identity, f) {
			who.isAt(u.nick)
			return u.nick, who
		}
		who.gone = true
	}
	if who.gone {
		if u := s.seen(who.identity); u != nil {
			who.isAt(u.nick)
			return u.nick, who
		}
	}
	if !who.gone && (time.Since(who.seen) < fresh || replyTo != "" && who.found == replyTo && time.Since(who.seen) < freshAnswer) {
		return who.nick, who
	}
	return "", who
}

// nameOf is what the writer of the message with that handle is called now, as
// far as we see it, or "" if it is no handle.
func (s *session) nameOf(replyTo string) string {
	nick, id, ok := parseHandle(replyTo)
	if !ok {
		return ""
	}
	f := s.net.fold
	if u := s.users[f.fold(nick)]; u != nil && (u.host == "" || u.identity.same(id, f)) {
		return nick
	}
	if u := s.seen(id); u != nil {
		nick = u.nick
	}
	return nick
}

// seen is somebody of that identity whom we share a channel with, or nil.
func (s *session) seen(id identity) *user {
	for _, u := range s.users {
		if u.identity.same(id, s.net.fold) {
			return u
		}
	}
	return nil
}

// ask sends a WHOIS, once for everybody who waits for the same nick.
func (s *session) ask(nick string) chan inquiry {
	answer := make(chan inquiry, 1)
	folded := s.net.fold.fold(nick)
	q := s.whois[folded]
	if q == nil {
		q = &inquiry{at: time.Now()}
		s.whois[folded] = q
		s.spend()
		s.push("WHOIS", nick)
	}
	q.waiting = append(q.waiting, answer)
	return answer
}

// answer ends the inquiry about a folded nick.
func (s *session) answer(folded string) {
	q := s.whois[folded]
	delete(s.whois, folded)
	for _, c := range q.waiting {
		c <- *q
	}
}

// judge decides whether the one who was found is the one we look for.
func (s *session) judge(who *peer, q inquiry) (string, error) {
	if q.found && who.identity.same(q.identity, s.net.fold) {
		who.isAt(q.nick)
		return q.nick, nil
	}
	who.isMissing()
	if s.net.monitor {
		s.spend()
		s.push("MONITOR", "+", who.nick)
	}
	if q.found {
		return "", notSent("send to %s: the person has left; somebody else has the nick now", who.nick)
	}
	return "", notSent("send to %s: the person is not on the network", who.nick)
}

func (s *session) onWhoisUser(e *girc.Event) {
	if q := s.whois[s.net.fold.fold(param(e, 1))]; q != nil {
		q.found, q.nick, q.user, q.host = true, param(e, 1), param(e, 2), param(e, 3)
	}
}

func (s *session) onWhoisAccount(e *girc.Event) {
	if q := s.whois[s.net.fold.fold(param(e, 1))]; q != nil {
		q.account = account(param(e, 2))
	}
}

func (s *session) onWhoisEnd(e *girc.Event) {
	if folded := s.net.fold.fold(param(e, 1)); s.whois[folded] != nil {
		s.answer(folded)
	}
}

// verdict is what a refused line means for the next attempt.
type verdict int

const (
	notNow  verdict = iota // the channel or person does not take it at present
	never                  // the same line would be refused for ever
	hurried                // too fast
)

// sendRefusals are the numerics that answer a line which went nowhere.
var sendRefusals = map[string]verdict{
	"401": notNow, "403": notNow, "404": notNow, "408": notNow, "442": notNow, "477": notNow, "482": notNow,
	"486": notNow, "489": notNow, "531": notNow, "716": notNow, "421": notNow, "451": notNow,
	"402": never, "407": never, "411": never, "412": never, "413": never, "414": never, "415": never, "417": never, "461": never,
	"263": hurried, "439": hurried,
}

// untargeted are those that name no target; they are about the oldest line.
var untargeted = map[string]bool{"263": true, "411": true, "412": true, "417": true, "461": true, "451": true, "421": true}

func (s *session) onSendRefused(e *girc.Event) {
	target := param(e, 1)
	if untargeted[e.Command] && len(e.Params) > 2 && !strings.EqualFold(target, "PRIVMSG") {
		return // About another command of ours.
	}
	d := s.refusedLine(target, untargeted[e.Command])
	if d == nil {
		return
	}
	reason := plain(e.Last())
	if d.room == nil && e.Command == "401" {
		s.ch.people.quit(d.target, s.net.fold)
	}
	if d.room != nil && !d.room.plain && d.text != stripCodes(d.text) && (e.Command == "404" || e.Command == "408") {
		// It may be for the codes only. Without them the line is tried at once.
		d.room.plain = true
		s.log.Info("the channel refused formatting; sending plain text from now on", "room", d.room.name, "reason", reason)
		s.settle(d, errPlain)
		return
	}
	var err error
	switch sendRefusals[e.Command] {
	case never:
		err = fmt.Errorf("irc: send to %s: %w: %s (%s)", d.target, channels.ErrPermanent, reason, e.Command)
	case hurried:
		err = &channels.NotSent{Err: &channels.Retry{After: waitIn(reason), Err: fmt.Errorf("irc: send to %s: %s (%s)", d.target, reason, e.Command)}}
	default:
		err = notSent("send to %s: %s (%s)", d.target, reason, e.Command)
	}
	s.settle(d, err)
}

// onFail is the newer form of a refusal: FAIL PRIVMSG CODE [context…] :reason.
// If a message of several lines was refused, there are no more of them.
func (s *session) onFail(e *girc.Event) {
	switch what := strings.ToUpper(param(e, 0)); {
	case what == "BATCH":
		i := slices.IndexFunc(s.pending, func(d *delivery) bool { return len(d.lines) > 1 && d.state.Load() == begun })
		if i < 0 {
			return
		}
		s.log.Warn("the network refused a message of several lines; sending the lines one by one from now on", "code", param(e, 1), "reason", plain(e.Last()))
		s.ch.multi.Store(nil)
		s.settle(s.pending[i], notSent("send to %s: %s (%s)", s.pending[i].target, plain(e.Last()), param(e, 1)))
		return
	case what != "PRIVMSG":
		return
	}
	d := s.refusedLine("", true)
	for _, p := range e.Params[min(2, len(e.Params)):] {
		d = cmp.Or(s.refusedLine(p, false), d)
	}
	if d != nil {
		s.settle(d, notSent("send to %s: %s (%s)", d.target, plain(e.Last()), param(e, 1)))
	}
}

// refusedLine is the oldest line to target that is under way.
func (s *session) refusedLine(target string, any bool) *delivery {
	for _, d := range s.pending {
		if d.state.Load() == begun && (any || s.net.fold.same(d.target, target)) {
			return d
		}
	}
	return nil
}

// waitIn reads "please wait 12 seconds" and has an answer where it is not said.
func waitIn(reason string) time.Duration {
	for _, word := range strings.Fields(reason) {
		if n, err := strconv.Atoi(strings.Trim(word, "().,;:s")); err == nil && n > 0 && n < 3600 {
			return time.Duration(n) * time.Second
		}
	}
	return 10 * time.Second
}

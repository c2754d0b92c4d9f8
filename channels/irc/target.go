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

// trustNick is how long after a sign of life we believe that a nick still belongs
// to the same person. The network tells us of nick changes only if we share a
// channel, so after this time we ask with a WHOIS, once per answer.
const trustNick = 5 * time.Second

// trustNickInAnswer replaces trustNick for the later lines of one answer.
const trustNickInAnswer = time.Minute

// whoisTimeout bounds the wait for the end of a WHOIS.
const whoisTimeout = 15 * time.Second

// whoisQuery is a WHOIS that was sent, and who waits for its answer. All who ask
// for the same nick share it.
type whoisQuery struct {
	at    time.Time
	found bool
	identity
	nick    string
	waiting []chan whoisQuery
}

// resolveTarget returns the channel or nick that m is sent to. A reply follows a
// person to a new nick and never reaches somebody else who took the old one.
// While the person cannot be found the error is temporary, because people come
// back.
func (s *session) resolveTarget(ctx context.Context, m channels.Outbound) (target string, r *room, err error) {
	var (
		who    *peer
		answer chan whoisQuery
	)
	if !s.do(ctx, func() {
		switch name := m.Key.Chat(); {
		case s.phase != ready:
			err = &channels.NotSent{Err: errNotConnected}
		case s.isChannel(name):
			target, r, err = s.roomTarget(name)
		case !validTarget(name):
			err = fmt.Errorf("irc: send to %s: %w: that cannot be a nick", m.Key, channels.ErrPermanent)
		default:
			target, who = s.personTarget(m.ReplyTo, name)
			switch {
			case target != "":
			case time.Now().Before(who.lookAt):
				err = notSent("send to %s: the person is not on the network", who.nick)
			default:
				answer = s.sendWhois(who.nick)
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
			if target, err = s.checkWhois(who, q); err == nil {
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

func (s *session) roomTarget(name string) (string, *room, error) {
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

// personTarget returns the nick to send to, or "" and the peer to look up. For a
// chat in which nobody has written yet, such as a heartbeat's target, the nick is
// all we know.
func (s *session) personTarget(replyTo, chat string) (string, *peer) {
	f := s.net.fold
	who := s.ch.people.find(replyTo, f.fold(chat))
	if who == nil {
		return chat, nil
	}
	if u := s.users[f.fold(who.nick)]; u != nil && u.host != "" {
		if who.identity.same(u.identity, f) {
			who.foundAs(u.nick)
			return u.nick, who
		}
		who.gone = true
	}
	if who.gone {
		if u := s.userWith(who.identity); u != nil {
			who.foundAs(u.nick)
			return u.nick, who
		}
	}
	if !who.gone && (time.Since(who.seen) < trustNick || replyTo != "" && who.found == replyTo && time.Since(who.seen) < trustNickInAnswer) {
		return who.nick, who
	}
	return "", who
}

// currentNick returns the nick, as far as we know, that the writer of the message
// with that handle has now, or "" if it is no handle.
func (s *session) currentNick(replyTo string) string {
	nick, id, ok := parseHandle(replyTo)
	if !ok {
		return ""
	}
	f := s.net.fold
	if u := s.users[f.fold(nick)]; u != nil && (u.host == "" || u.identity.same(id, f)) {
		return nick
	}
	if u := s.userWith(id); u != nil {
		nick = u.nick
	}
	return nick
}

func (s *session) userWith(id identity) *user {
	for _, u := range s.users {
		if u.identity.same(id, s.net.fold) {
			return u
		}
	}
	return nil
}

// sendWhois sends a WHOIS; callers who ask for the same nick share one.
func (s *session) sendWhois(nick string) chan whoisQuery {
	answer := make(chan whoisQuery, 1)
	folded := s.net.fold.fold(nick)
	q := s.whois[folded]
	if q == nil {
		q = &whoisQuery{at: time.Now()}
		s.whois[folded] = q
		s.spend()
		s.push("WHOIS", nick)
	}
	q.waiting = append(q.waiting, answer)
	return answer
}

// finishWhois hands the result about a folded nick to everyone who waits for it.
func (s *session) finishWhois(folded string) {
	q := s.whois[folded]
	delete(s.whois, folded)
	for _, c := range q.waiting {
		c <- *q
	}
}

// checkWhois returns the nick to send to if the user found is the person we look
// for.
func (s *session) checkWhois(who *peer, q whoisQuery) (string, error) {
	if q.found && who.identity.same(q.identity, s.net.fold) {
		who.foundAs(q.nick)
		return q.nick, nil
	}
	who.markMissing()
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
		q.found = true
		q.nick = param(e, 1)
		q.user = param(e, 2)
		q.host = param(e, 3)
	}
}

func (s *session) onWhoisAccount(e *girc.Event) {
	if q := s.whois[s.net.fold.fold(param(e, 1))]; q != nil {
		q.account = account(param(e, 2))
	}
}

func (s *session) onWhoisEnd(e *girc.Event) {
	if folded := s.net.fold.fold(param(e, 1)); s.whois[folded] != nil {
		s.finishWhois(folded)
	}
}

// refusalKind says whether to try a refused line again.
type refusalKind int

const (
	temporary refusalKind = iota // the channel or person may accept it later
	permanent                    // the same line would always be refused
	throttled                    // we were too fast
)

// sendRefusals are the numerics that refuse a line, and what that says about
// sending the same line again.
var sendRefusals = map[string]refusalKind{
	"401": temporary, "403": temporary, "404": temporary, "408": temporary, "442": temporary, "477": temporary, "482": temporary,
	"486": temporary, "489": temporary, "531": temporary, "716": temporary, "421": temporary, "451": temporary,
	"402": permanent, "407": permanent, "411": permanent, "412": permanent, "413": permanent, "414": permanent, "415": permanent, "417": permanent, "461": permanent,
	"263": throttled, "439": throttled,
}

// untargeted are the refusals that name no target; they concern the oldest line.
var untargeted = map[string]bool{"263": true, "411": true, "412": true, "417": true, "461": true, "451": true, "421": true}

func (s *session) onSendRefused(e *girc.Event) {
	target := param(e, 1)
	if untargeted[e.Command] && len(e.Params) > 2 && !strings.EqualFold(target, "PRIVMSG") {
		return // It rejects another command of ours.
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
		// Perhaps only because of the codes: retry at once without them.
		d.room.plain = true
		s.log.Info("the channel refused formatting; sending plain text from now on", "room", d.room.name, "reason", reason)
		s.settle(d, errPlain)
		return
	}
	var err error
	switch sendRefusals[e.Command] {
	case permanent:
		err = fmt.Errorf("irc: send to %s: %w: %s (%s)", d.target, channels.ErrPermanent, reason, e.Command)
	case throttled:
		err = &channels.NotSent{Err: &channels.Retry{After: retryAfter(reason), Err: fmt.Errorf("irc: send to %s: %s (%s)", d.target, reason, e.Command)}}
	default:
		err = notSent("send to %s: %s (%s)", d.target, reason, e.Command)
	}
	s.settle(d, err)
}

// onFail handles the newer form of a refusal: FAIL PRIVMSG CODE [context…] :reason.
// After a refused multiline message we send single lines until the next connection.
func (s *session) onFail(e *girc.Event) {
	switch what := strings.ToUpper(param(e, 0)); {
	case what == "BATCH":
		i := slices.IndexFunc(s.pending, func(d *delivery) bool { return len(d.lines) > 1 && d.state.Load() == begun })
		if i < 0 {
			return
		}
		s.log.Warn("the network refused a message of several lines; sending the lines one by one from now on", "code", param(e, 1), "reason", plain(e.Last()))
		s.ch.multiline.Store(&limits{})
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

// refusedLine returns the oldest line sent to target, or to anyone if any, that is
// not confirmed yet.
func (s *session) refusedLine(target string, any bool) *delivery {
	for _, d := range s.pending {
		if d.state.Load() == begun && (any || s.net.fold.same(d.target, target)) {
			return d
		}
	}
	return nil
}

// retryAfter reads the wait from a reason like "please wait 12 seconds"; default 10 s.
func retryAfter(reason string) time.Duration {
	for _, word := range strings.Fields(reason) {
		if n, err := strconv.Atoi(strings.Trim(word, "().,;:s")); err == nil && n > 0 && n < 3600 {
			return time.Duration(n) * time.Second
		}
	}
	return 10 * time.Second
}

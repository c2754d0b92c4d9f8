package irc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lrstanley/girc"

	"dragoman/channels"
)

// room is an IRC channel that we should be in, with everything that decides when
// to join it and what to send there. Only the session's loop touches it, except
// for kicks and sending.
type room struct {
	name, key   string
	joined      bool
	since       time.Time // by the server's clock
	why         string    // the reason we are not in it, for the operator
	nextTry     time.Time // zero while an attempt runs
	triedAt     time.Time
	tries       int // failed joins since we last saw a message there
	joinedAt    time.Time
	invited     bool // while an attempt runs
	kicked      bool // we are not in it because we were kicked
	kicks       atomic.Int32
	loggedWhy   string // the why that was logged last
	plain       bool   // it refuses formatting codes (mode +c or similar)
	lastReplyTo string // ReplyTo of the last line we sent
	lastKicks   int32  // kicks when we sent it
	lastSentAt  time.Time
	sending     chan struct{} // capacity 1: held while a message is being sent here
	longLineBy  string        // who last addressed us with a line that was probably cut
	longLineAt  time.Time
}

// joinRefusals maps the numerics that refuse a JOIN to their meaning. Their second
// parameter is the channel.
var joinRefusals = map[string]string{
	"403": "there is no such channel", "405": "too many channels", "448": "the network does not allow this name",
	"471": "it is full", "473": "it is invite-only",
	"474": "we are banned", "475": "the key is wrong or missing", "476": "the network does not allow this name",
	"477": "it is for logged-in nicks only", "479": "the network does not allow this name",
	"480": "too many joins at once",
	"489": "it is for TLS connections only", "520": "it is for operators only",
}

// joinTimeout is how long we wait for any reply to a JOIN.
const joinTimeout = 30 * time.Second

func (s *session) joinAll() {
	for _, spec := range s.ch.opts.Channels {
		name, key, _ := strings.Cut(spec, " ")
		if folded := s.net.fold.fold(name); s.rooms[folded] == nil {
			s.rooms[folded] = &room{name: name, key: key, sending: make(chan struct{}, 1)}
		}
	}
	s.join(slices.Collect(maps.Values(s.rooms))...)
}

// join joins channels, several in one line. Those with a key come first, because keys are
// matched by position.
func (s *session) join(rooms ...*room) {
	slices.SortFunc(rooms, func(a, b *room) int { return cmp.Or(strings.Compare(b.key, a.key), strings.Compare(a.name, b.name)) })
	const most = 400 // bytes of names and keys in a line
	var names, keys []string
	size := 0
	flush := func() {
		if len(names) > 0 {
			s.spend()
			params := []string{strings.Join(names, ",")}
			if len(keys) > 0 {
				params = append(params, strings.Join(keys, ","))
			}
			s.push("JOIN", params...)
		}
		names = nil
		keys = nil
		size = 0
	}
	now := time.Now()
	for _, r := range rooms {
		size += len(r.name) + len(r.key) + 2
		if size > most {
			flush()
			size = len(r.name) + len(r.key) + 2
		}
		names = append(names, r.name)
		if r.key != "" {
			keys = append(keys, r.key)
		}
		r.triedAt, r.nextTry = now, time.Time{}
	}
	flush()
}

// tickRooms joins the channels whose time to be tried again has come, and those
// whose JOIN the server never answered.
func (s *session) tickRooms(now time.Time) {
	var due []*room
	for _, r := range s.rooms {
		unanswered := r.nextTry.IsZero() && now.Sub(r.triedAt) > max(joinTimeout, s.ch.opts.RejoinMax)
		if !r.joined && (unanswered || !r.nextTry.IsZero() && now.After(r.nextTry)) {
			due = append(due, r)
		}
	}
	s.join(due...)
}

// rejoinLater schedules the next attempt at r and tells the operator why; it logs
// each reason once. Each wait is twice as long as the one before: an attempt may
// cost several lines (we are forwarded, and leave), and servers end a connection
// that sends too many.
func (s *session) rejoinLater(r *room, why string) {
	if r.joined && time.Since(r.joinedAt) > s.ch.opts.RejoinMax {
		r.tries = 0 // It had let us in, and nothing of before matters now.
	}
	wait := min(s.ch.opts.RejoinDelay<<min(r.tries, 10), s.ch.opts.RejoinMax)
	r.tries++
	r.joined = false
	r.why = why
	r.nextTry = time.Now().Add(wait)
	if r.loggedWhy != why {
		r.loggedWhy = why
		s.log.Warn("not in a channel", "room", r.name, "why", why, "retry_in", wait)
	}
	s.report()
}

func (s *session) onJoinRefused(e *girc.Event) {
	r := s.rooms[s.net.fold.fold(param(e, 1))]
	if r == nil || r.joined {
		s.onSendRefused(e) // 477 and 489 also answer messages.
		return
	}
	if r.invited {
		r.invited = false
		s.join(r)
		return
	}
	s.rejoinLater(r, cmp.Or(joinRefusals[e.Command], plain(e.Last())))
}

// onForward handles the network sending us to another channel than we asked for.
func (s *session) onForward(e *girc.Event) {
	if r := s.rooms[s.net.fold.fold(param(e, 1))]; r != nil && !r.joined {
		s.rejoinLater(r, "the network forwards us to "+plain(param(e, 2)))
	}
}

func (s *session) onJoin(e *girc.Event) {
	name := param(e, 0)
	r := s.rooms[s.net.fold.fold(name)]
	if s.fromMe(e) {
		src := source(e)
		if src.Ident != "" && src.Host != "" {
			s.me.user, s.me.host = src.Ident, src.Host
		}
		if r == nil { // We were forwarded here.
			if name != s.stray {
				s.stray = name
				s.log.Warn("left a channel that is not among the configured ones", "room", name)
			}
			s.spend()
			s.push("PART", name)
			return
		}
		r.joined = true
		r.since = e.Timestamp
		r.joinedAt = time.Now()
		r.invited = false
		r.why = ""
		r.loggedWhy = ""
		r.kicked = false
		switch {
		case s.net.whox && !s.net.caps["account-tag"]:
			s.spend()
			s.push("WHO", r.name, "%tnuha,"+whoxToken)
		case !s.net.whox && !s.net.caps["userhost-in-names"]:
			s.spend()
			s.push("WHO", r.name)
		}
		s.log.Info("joined", "room", r.name)
		s.report()
		return
	}
	if r == nil {
		return
	}
	u := s.addMember(e.Source, r)
	if s.net.caps["extended-join"] && u != nil && len(e.Params) >= 2 {
		u.account = account(param(e, 1))
	}
}

func (s *session) onPart(e *girc.Event) {
	r := s.rooms[s.net.fold.fold(param(e, 0))]
	switch {
	case r == nil:
	case s.fromMe(e):
		s.clearMembers(r)
		s.rejoinLater(r, "the network removed us")
	default:
		s.removeMember(source(e).Name, r)
	}
}

func (s *session) onKick(e *girc.Event) {
	r := s.rooms[s.net.fold.fold(param(e, 0))]
	switch {
	case r == nil:
	case s.net.fold.same(param(e, 1), s.me.nick):
		s.clearMembers(r)
		s.ch.remainders.drop(s.net.fold.fold(r.name))
		r.kicked = true
		r.kicks.Add(1)
		s.rejoinLater(r, "kicked by "+plain(source(e).Name))
	default:
		s.removeMember(param(e, 1), r)
	}
}

// kickCount is how often we have been kicked out of r; 0 for a person (nil).
func (r *room) kickCount() int32 {
	if r == nil {
		return 0
	}
	return r.kicks.Load()
}

// onInvite joins at once if we are not in the channel. While an attempt runs, the
// invitation counts if the server refuses that attempt.
func (s *session) onInvite(e *girc.Event) {
	r := s.rooms[s.net.fold.fold(e.Last())]
	switch {
	case r == nil || r.joined || s.phase != ready:
	case r.nextTry.IsZero() && time.Since(r.triedAt) < joinTimeout:
		r.invited = true
	default:
		s.join(r)
	}
}

func (s *session) clearMembers(r *room) {
	for _, u := range s.users {
		s.removeMember(u.nick, r)
	}
}

// report sets the status that the operator sees.
func (s *session) report() {
	if s.phase != ready || s.err != nil {
		return
	}
	var notes []string
	for _, r := range s.rooms {
		if r.why != "" && !r.joined {
			notes = append(notes, fmt.Sprintf("not in %s: %s", r.name, r.why))
		}
	}
	slices.Sort(notes)
	switch {
	case s.hasNick():
	case s.login.triedNick > 0:
		notes = append(notes, fmt.Sprintf("called %s, because %s is taken", s.me.nick, s.ch.opts.Nick))
	default: // Some networks rename everybody who logs in to the account's name.
		notes = append(notes, fmt.Sprintf("called %s and not %s: the network wants it so", s.me.nick, s.ch.opts.Nick))
	}
	if s.ch.opts.SASL.Mechanism != "" && s.login.account == "" {
		notes = append(notes, "not logged in: the network refused SASL")
	}
	if note := s.nickServProblem(); note != "" {
		notes = append(notes, note)
	}
	s.ch.setStatus(channels.StateConnected, strings.Join(notes, "; "))
}

// isChannel reports whether name begins like a channel on this network.
func (s *session) isChannel(name string) bool {
	return name != "" && strings.IndexByte(s.net.chanTypes, name[0]) >= 0
}

// spend takes one line out of the flood budget without waiting. It is for the few
// lines that cannot wait.
func (s *session) spend() { s.limiter.Reserve() }

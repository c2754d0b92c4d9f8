package irc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lrstanley/girc"

	"dragoman/channels"
)

var errNotConnected = errors.New("irc: not connected")

// notSent marks an error after which nothing has reached anybody.
func notSent(format string, a ...any) error {
	return &channels.NotSent{Err: fmt.Errorf("irc: "+format, a...)}
}

// delivery is one message on its way: mostly a line, several where the network
// takes that.
type delivery struct {
	target string
	room   *room // nil for a person
	kicks  int32 // how often we had been kicked out of it when this began
	goesOn bool  // on what was said last
	lines  []line
	text   string // as its echo shows it
	about  string // the handle of the message that it answers
	shown  bool   // and that this is shown
	seq    uint64
	at     time.Time
	state  atomic.Int32 // waiting, begun or dropped
	done   chan error   // gets one value
	over   bool         // done has it; only the loop looks
}

const (
	waiting int32 = iota
	begun
	dropped
)

// begin is called by the writer just before the line goes to the socket.
func (d *delivery) begin() bool { return d.state.CompareAndSwap(waiting, begun) }

// drop keeps a line that has not begun from ever beginning.
func (d *delivery) drop() bool { return d.state.CompareAndSwap(waiting, dropped) }

func (d *delivery) finish(err error) {
	if !d.over {
		d.over = true
		d.done <- err
	}
}

// Send says m and returns when the server has confirmed it. A piece made by
// [Channel.Split] is one line, or as many as the network took at once then;
// Markdown is said whole, message by message.
func (c *Channel) Send(ctx context.Context, m channels.Outbound) (channels.Receipt, error) {
	s := c.current.Load()
	if s == nil {
		return channels.Receipt{}, &channels.NotSent{Err: errNotConnected}
	}
	target, r, err := s.aim(ctx, m)
	if err != nil {
		return channels.Receipt{}, err
	}
	kicks := r.kicksNow()
	left, isRest := strings.CutPrefix(strings.TrimPrefix(m.Text, repeatMark), restMark)
	if isRest {
		m.Text = hint(left)
	}
	release, err := s.takeWord(ctx, r)
	if err != nil {
		return channels.Receipt{}, err
	}
	defer release()
	begins, asker, width := false, "", 0
	if !s.do(ctx, func() {
		if begins = r != nil && (!m.GoesOn || r.latest != m.ReplyTo); begins {
			asker = s.nameOf(m.ReplyTo)
		}
		width = budget(s.me.nick, s.me.user, cmp.Or(s.me.host, strings.Repeat("h", maxHost)), target)
	}) {
		return channels.Receipt{}, &channels.NotSent{Err: errNotConnected}
	}
	parts := c.limits().parts(c.lines(opening(m, asker), width))
	if len(parts) == 0 {
		return channels.Receipt{}, fmt.Errorf("irc: send to %s: it has no visible text: %w", target, channels.ErrPermanent)
	}
	for i, part := range parts {
		say := func() error {
			return s.say(ctx, &delivery{target: target, room: r, kicks: kicks, goesOn: m.GoesOn, lines: part, text: echoOf(part), about: m.ReplyTo, shown: begins && i == 0, done: make(chan error, 1)})
		}
		err := say()
		if errors.Is(err, errPlain) {
			err = say()
		}
		if err != nil {
			if i > 0 {
				err = fmt.Errorf("irc: send to %s: after %d of %d lines: %s", m.Key, i, len(parts), err) //nolint:errorlint // Some of it is out: it is NotSent no more.
			}
			return channels.Receipt{}, err
		}
	}
	if !m.GoesOn {
		c.loops.said(m.Key.String() + " " + c.Asker(m.ReplyTo))
	}
	if isRest {
		c.rests.keep(m.Key.Chat(), &rest{who: c.Asker(m.ReplyTo), text: left})
	}
	return channels.Receipt{}, nil
}

// errPlain says that a line was refused that had formatting codes; the room
// gets none from now on.
var errPlain = notSent("the channel takes no formatting")

// stripCodes is text without our formatting codes.
var stripCodes = strings.NewReplacer(codeBold, "", codeItalic, "", codeStruck, "").Replace

// takeWord waits until nobody else says anything in r, so that whoever names
// people knows what comes before. A person needs no such thing: r is nil.
func (s *session) takeWord(ctx context.Context, r *room) (release func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	select {
	case r.word <- struct{}{}:
		return func() { <-r.word }, nil
	case <-s.ended:
		return nil, &channels.NotSent{Err: errNotConnected}
	case <-ctx.Done():
		return nil, notSent("send to %s: %w", r.name, context.Cause(ctx))
	}
}

// repeatMark is what the gateway puts before what may have arrived already.
const repeatMark = "↻ "

// opening is m's text in lines. Where an answer begins in a room, or goes on after
// something else, the name of who asked comes first, unless the model has
// written it already.
func opening(m channels.Outbound, asker string) []string {
	text, repeated := strings.CutPrefix(m.Text, repeatMark)
	lines := linesOf(text)
	before := ""
	if repeated {
		before = repeatMark
	}
	if asker != "" && len(lines) > 0 && !calls(stripCodes(lines[0]), asker) {
		before = asker + ": " + before
	}
	if before != "" && len(lines) > 0 {
		lines[0] = before + strings.TrimPrefix(lines[0], verbatim)
	}
	return lines
}

// calls reports whether line begins with nick as a name that is spoken to.
func calls(line, nick string) bool {
	line = strings.TrimPrefix(line, "@")
	return len(line) > len(nick) && strings.EqualFold(line[:len(nick)], nick) && strings.ContainsRune(":,", rune(line[len(nick)]))
}

// lines cuts lines within the budget that our name leaves now.
func (c *Channel) lines(whole []string, budget int) (out []line) {
	if c.limits().bytes > 0 {
		budget -= forGlue
	}
	for _, each := range whole {
		for _, part := range wrap(each, max(budget, 100)) {
			part.text = strings.TrimPrefix(part.text, verbatim)
			out = append(out, part)
		}
	}
	return out
}

// say waits for the flood budget, hands d to the loop and waits for the end.
func (s *session) say(ctx context.Context, d *delivery) error {
	if err := s.pace(ctx, 1+len(d.text)/maxLine); err != nil {
		return err
	}
	var err error
	if !s.do(ctx, func() { err = s.deliver(d) }) {
		return &channels.NotSent{Err: errNotConnected}
	}
	if err != nil {
		return err
	}
	select {
	case err := <-d.done:
		return err
	case <-ctx.Done():
		if d.drop() {
			return notSent("send to %s: %w", d.target, context.Cause(ctx))
		}
		return fmt.Errorf("irc: send to %s: not confirmed: %w", d.target, context.Cause(ctx))
	}
}

// pace takes n lines from the flood budget, or all of it. Lines wait in the order
// in which they asked. If ctx would end first it says when to come back instead.
func (s *session) pace(ctx context.Context, n int) error {
	r := s.limiter.ReserveN(time.Now(), min(n, s.limiter.Burst()))
	delay := r.Delay()
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < delay {
		r.Cancel()
		return &channels.NotSent{Err: &channels.Retry{After: delay, Err: errors.New("irc: many lines are waiting to be sent")}}
	}
	t := time.NewTimer(delay)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.ended:
		return &channels.NotSent{Err: errNotConnected}
	case <-ctx.Done():
		r.Cancel()
		return notSent("send: %w", context.Cause(ctx))
	}
}

// deliver queues d, followed by what will confirm it: the server's echo where
// there are echoes, else a PING, which it answers after the line before it.
func (s *session) deliver(d *delivery) error {
	switch {
	case s.phase != ready || s.quitting:
		return &channels.NotSent{Err: errNotConnected}
	case d.kicks != d.room.kicksNow(), d.room != nil && d.goesOn && d.room.latestIn != d.kicks:
		return notSent("send to %s: %w: kicked meanwhile", d.target, channels.ErrRemoved)
	case d.room != nil && !d.room.joined:
		return notSent("send to %s: not in the channel: %s", d.target, d.room.whyNot())
	}
	if d.room != nil && d.room.plain {
		for i, l := range d.lines {
			d.lines[i].text, d.lines[i].glued = stripCodes(l.text), stripCodes(l.glued)
		}
		d.text = stripCodes(d.text)
	}
	s.sent++
	d.seq, d.at = s.sent, time.Now()
	if d.room != nil {
		d.room.latest, d.room.latestIn, d.room.latestAt = d.about, d.kicks, d.at
	}
	text := s.wire(d)
	if !s.net.caps["echo-message"] {
		text += "\r\nPING " + strconv.FormatUint(d.seq, 10)
	}
	select {
	case s.out <- outLine{text, d}:
		s.pending = append(s.pending, d)
		return nil
	default:
		s.end(fmt.Errorf("connection to %s: the server takes no more lines", s.ch.opts.Server))
		return &channels.NotSent{Err: errNotConnected}
	}
}

// wire is d as the server gets it.
func (s *session) wire(d *delivery) string {
	var tags girc.Tags
	if d.shown {
		tags = s.replyTag(d.about)
	}
	if len(d.lines) > 1 {
		return batch(strconv.FormatUint(d.seq, 10), d, tags)
	}
	e := girc.Event{Command: "PRIVMSG", Params: []string{d.target, d.text}, Tags: tags}
	return e.String()
}

func (r *room) whyNot() string { return cmp.Or(r.why, "joining it") }

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

// notSent makes an error that guarantees that nothing has been sent.
func notSent(format string, a ...any) error {
	return &channels.NotSent{Err: fmt.Errorf("irc: "+format, a...)}
}

// delivery is one message on its way: one line, or several with multiline.
type delivery struct {
	target    string
	room      *room // nil for a person
	kicks     int32 // kickCount of room when Send began
	continues bool  // the answer sent before it
	lines     []line
	text      string // as the server echoes it
	replyTo   string // handle of the message that it answers
	showReply bool   // tag it as a reply to that message
	seq       uint64
	at        time.Time
	state     atomic.Int32 // waiting, begun or dropped
	done      chan error   // capacity 1; gets the result
	finished  bool         // done has it; only the loop reads this
}

const (
	waiting int32 = iota
	begun
	dropped
)

// begin is called by the writer just before it writes the line.
func (d *delivery) begin() bool { return d.state.CompareAndSwap(waiting, begun) }

// drop makes sure that a line whose writing has not begun is never written.
func (d *delivery) drop() bool { return d.state.CompareAndSwap(waiting, dropped) }

func (d *delivery) finish(err error) {
	if !d.finished {
		d.finished = true
		d.done <- err
	}
}

// Send sends m and returns when the server has confirmed it. A piece made by
// [Channel.Split] is one line, or as many as the network took at once when it was
// split. Markdown that was not split is sent whole, message by message.
func (c *Channel) Send(ctx context.Context, m channels.Outbound) (channels.Receipt, error) {
	s := c.current.Load()
	if s == nil {
		return channels.Receipt{}, &channels.NotSent{Err: errNotConnected}
	}
	target, r, err := s.resolveTarget(ctx, m)
	if err != nil {
		return channels.Receipt{}, err
	}
	kicks := r.kickCount()
	left := ""
	if m.Form == channels.FormRest {
		left = m.Text
		m.Text = hint(left)
		m.Form = channels.FormMarkdown
		m.Repeats = false
	}
	release, err := s.lockRoom(ctx, r)
	if err != nil {
		return channels.Receipt{}, err
	}
	defer release()
	begins := false
	asker := ""
	width := 0
	if !s.do(ctx, func() {
		if r != nil {
			begins = !m.GoesOn || r.lastReplyTo != m.ReplyTo
			asker = s.currentNick(m.ReplyTo)
		}
		width = budget(s.me.nick, s.me.user, cmp.Or(s.me.host, strings.Repeat("h", maxHost)), target)
	}) {
		return channels.Receipt{}, &channels.NotSent{Err: errNotConnected}
	}
	lines := c.lines
	if r != nil {
		lines = c.roomLines
	}
	quick := c.loops.isQuick(m.Key.String() + " " + c.Asker(m.ReplyTo))
	parts := c.limits().parts(lines(opening(m, addressee{asker, begins, quick}), width))
	if len(parts) == 0 {
		return channels.Receipt{}, fmt.Errorf("irc: send to %s: it has no visible text: %w", target, channels.ErrPermanent)
	}
	for i, part := range parts {
		send := func() error {
			return s.transmit(ctx, &delivery{target: target, room: r, kicks: kicks, continues: m.GoesOn, lines: part, text: echoOf(part), replyTo: m.ReplyTo, showReply: begins && i == 0, done: make(chan error, 1)})
		}
		err := send()
		if errors.Is(err, errPlain) {
			err = send()
		}
		if err != nil {
			if i > 0 {
				err = fmt.Errorf("irc: send to %s: after %d of %d lines: %s", m.Key, i, len(parts), err) //nolint:errorlint // Lines are out, so it must not be NotSent.
			}
			return channels.Receipt{}, err
		}
	}
	if !m.GoesOn {
		c.loops.answered(m.Key.String() + " " + c.Asker(m.ReplyTo))
	}
	if left != "" {
		c.remainders.keep(m.Key.Chat(), &remainder{who: c.Asker(m.ReplyTo), text: left})
	}
	return channels.Receipt{}, nil
}

// errPlain says that the channel refused a line because of its formatting codes. From
// now on it gets none.
var errPlain = notSent("the channel takes no formatting")

// stripCodes is for channels that refuse formatting: see errPlain.
var stripCodes = strings.NewReplacer(codeBold, "", codeItalic, "", codeStruck, "").Replace

// lockRoom waits until no other message is being sent to r, so that Send knows
// which line comes before and whether to name the asker. A person (nil) needs no
// lock.
func (s *session) lockRoom(ctx context.Context, r *room) (release func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	select {
	case r.sending <- struct{}{}:
		return func() { <-r.sending }, nil
	case <-s.ended:
		return nil, &channels.NotSent{Err: errNotConnected}
	case <-ctx.Done():
		return nil, notSent("send to %s: %w", r.name, context.Cause(ctx))
	}
}

// MarksRepeats implements [channels.RepeatMarker]: the mark stands after the asker's name.
func (c *Channel) MarksRepeats() {}

// addressee is who asked what a message answers, in a channel.
type addressee struct {
	nick   string // "": nobody
	begins bool   // the message begins an answer, or goes on after another one
	quick  bool   // they may be a program that answers to its name: [loops.isQuick]
}

// opening returns m's text as lines. In a channel, where an answer begins or
// continues after another message, the asker's name comes first, unless the model
// has written it already. No line begins with the name of a quick asker.
func opening(m channels.Outbound, asker addressee) []string {
	lines := linesOf(m.Text, m.Form)
	if len(lines) == 0 {
		return lines
	}
	if asker.quick {
		for i, line := range lines {
			first := asker.begins && i == 0 // which gets the name in another form
			if !first && addresses(bare(stripCodes(line)), asker.nick) {
				lines[i] = guard + strings.TrimPrefix(line, verbatim)
			}
		}
	}
	before := ""
	if m.Repeats {
		before = channels.RepeatMark
	}
	switch {
	case asker.nick == "" || !asker.begins:
	case asker.quick: // also if the model has written the name
		before = "(" + asker.nick + ") " + before
	case !addresses(stripCodes(lines[0]), asker.nick):
		before = asker.nick + ": " + before
	}
	if before != "" {
		lines[0] = before + strings.TrimPrefix(lines[0], verbatim)
	}
	return lines
}

// addresses reports whether line begins with "nick:" or "nick,", so that an answer
// does not name its asker twice.
func addresses(line, nick string) bool {
	line = strings.TrimPrefix(line, "@")
	return nick != "" && len(line) > len(nick) && strings.EqualFold(line[:len(nick)], nick) && strings.ContainsRune(":,", rune(line[len(nick)]))
}

// lines wraps each line to the budget that our current name leaves.
func (c *Channel) lines(whole []string, budget int) (out []line) {
	if c.limits().bytes > 0 {
		budget -= batchReserve
	}
	for _, each := range whole {
		for _, part := range wrap(each, max(budget, 100)) {
			part.text = strings.TrimPrefix(part.text, verbatim)
			out = append(out, part)
		}
	}
	return out
}

// transmit waits for the flood budget, queues d and waits for its confirmation.
func (s *session) transmit(ctx context.Context, d *delivery) error {
	if err := s.pace(ctx, 1+len(d.text)/maxLine); err != nil {
		return err
	}
	var err error
	if !s.do(ctx, func() { err = s.queueDelivery(d) }) {
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

// pace takes n lines from the flood budget, or all of it if n is more. Callers are
// served in the order in which they came. If ctx would end first, pace returns at
// once with an error that says when to try again.
func (s *session) pace(ctx context.Context, n int) error {
	r := s.limiter.ReserveN(time.Now(), min(n, s.limiter.Burst()))
	delay := r.Delay()
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < delay {
		r.Cancel()
		return &channels.NotSent{Err: &channels.Retry{After: delay, Err: errors.New("irc: many lines are waiting to be sent")}}
	}
	select {
	case <-time.After(delay):
		return nil
	case <-s.ended:
		return &channels.NotSent{Err: errNotConnected}
	case <-ctx.Done():
		r.Cancel()
		return notSent("send: %w", context.Cause(ctx))
	}
}

// queueDelivery queues d and what will confirm it: the server's echo if it echoes,
// else a PING, which it answers after the line.
func (s *session) queueDelivery(d *delivery) error {
	switch {
	case s.phase != ready || s.quitting:
		return &channels.NotSent{Err: errNotConnected}
	case d.kicks != d.room.kickCount(), d.room != nil && d.continues && d.room.lastKicks != d.kicks:
		return notSent("send to %s: %w: kicked meanwhile", d.target, channels.ErrRemoved)
	case d.room != nil && !d.room.joined:
		return notSent("send to %s: not in the channel: %s", d.target, d.room.whyNot())
	}
	if d.room != nil && d.room.plain {
		for i, l := range d.lines {
			d.lines[i].text, d.lines[i].inBatch = stripCodes(l.text), stripCodes(l.inBatch)
		}
		d.text = stripCodes(d.text)
	}
	s.sent++
	d.seq, d.at = s.sent, time.Now()
	if d.room != nil {
		d.room.lastReplyTo = d.replyTo
		d.room.lastKicks = d.kicks
		d.room.lastSentAt = d.at
	}
	text := s.wire(d)
	if !s.net.caps["echo-message"] {
		text += "\r\nPING " + strconv.FormatUint(d.seq, 10)
	}
	if !s.queue(outLine{text, d}) {
		return &channels.NotSent{Err: errNotConnected}
	}
	s.pending = append(s.pending, d)
	return nil
}

func (s *session) wire(d *delivery) string {
	var tags girc.Tags
	if d.showReply {
		tags = s.replyTag(d.replyTo)
	}
	if len(d.lines) > 1 {
		return batch(strconv.FormatUint(d.seq, 10), d, tags)
	}
	e := girc.Event{Command: "PRIVMSG", Params: []string{d.target, d.text}, Tags: tags}
	return e.String()
}

func (r *room) whyNot() string { return cmp.Or(r.why, "joining it") }

package crash_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dragoman/channels"
)

// people are those of one network. Their chats have numbers from 0 on.
type people struct {
	say    func(chat int, text string) (id string)
	edit   func(chat int, id, text string) // nil: nobody can
	revoke func(chat int, id string)       // nil: nobody can
	name   func(chat int) string           // of the chat, to the daemon
	shown  func(chat int) []string         // of the bot's words
	when   func(chat int) []time.Time      // was each of them shown
	idle   func() bool                     // the daemon has all that was said

	// For networks that forget; nil: this one does not.
	id    func(m channels.Inbound) string                   // in place of the message's
	away  func(chat int) bool                               // nobody would hear
	annoy func()                                            // now and then
	heard func(chat int, sent []int, rows []row) (ok []int) // what of it was
}

// talk is what people did.
type talk struct {
	sent                  [chats][]int      // marks, in order
	ids                   [chats][]string   // of the messages
	said                  map[int]time.Time // by mark
	revoked               map[int]bool      // marks
	messages, stops, news int
	edits, takes          int
}

// write says the next message in a chat, and returns its mark.
func (c *campaign) write(chat int) (mark int) {
	c.talk.messages++
	n := c.talk.messages
	text := fmt.Sprintf("message #%d", n)
	if c.lengthy && (n%20 == 5 || n%5 == 0 && c.places[chat].noFiles) {
		text += atLength
	}
	c.note(chat, n, text)
	return n
}

// atLength ends a message whose answer is long.
const atLength = ", at length"

// stop says /stop.
func (c *campaign) stop(chat int) {
	c.talk.stops++
	c.note(chat, stopped, "/stop")
}

// renew says /new.
func (c *campaign) renew(chat int) {
	c.talk.news++
	c.note(chat, renewed, "/new")
}

func (c *campaign) note(chat, mark int, text string) {
	c.talk.said[mark] = time.Now()
	c.talk.ids[chat] = append(c.talk.ids[chat], c.people.say(chat, text))
	c.talk.sent[chat] = append(c.talk.sent[chat], mark)
}

func (c *campaign) away(chat int) bool { return c.people.away != nil && c.people.away(chat) }

// later is something that a person does after some more messages.
type later struct {
	at int
	do func()
}

// converse writes messages into random chats until ctx ends. Of some of them
// people think again: they say /stop or /new, and something just before and after it,
// or change or take back what they said.
func (c *campaign) converse(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	c.talk.revoked, c.talk.said = make(map[int]bool), make(map[int]time.Time)
	var plans []later
	for now := 1; ; now++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, p := range plans {
			if p.at <= now {
				p.do()
			}
		}
		plans = slices.DeleteFunc(plans, func(p later) bool { return p.at <= now })
		chat := c.dice.talk.IntN(chats)
		if c.away(chat) {
			continue
		}
		n := c.write(chat)
		if do := c.second(chat, n); do != nil {
			plans = append(plans, later{now + 1 + c.dice.talk.IntN(10), do})
		}
	}
}

// second is what somebody does who thinks again about message n, which was just
// said in chat; nil: nothing.
func (c *campaign) second(chat, n int) func() {
	id := c.talk.ids[chat][len(c.talk.ids[chat])-1]
	switch {
	case n%7 == 0: // slow to answer
		return func() {
			if !c.away(chat) {
				c.write(chat)
				c.stop(chat)
				c.write(chat)
			}
		}
	case n%11 == 4 && c.moody: // there may be more, and there is more
		return func() {
			if !c.away(chat) {
				c.write(chat)
				c.renew(chat)
				c.write(chat)
			}
		}
	case n%8 == 1 && c.people.edit != nil:
		return func() {
			c.people.edit(chat, id, fmt.Sprintf("message #%d, changed", n))
			c.talk.edits++
		}
	case n%8 == 2 && c.people.revoke != nil:
		return func() {
			c.people.revoke(chat, id)
			c.talk.revoked[n] = true
			c.talk.takes++
		}
	}
	return nil
}

// mark is the number of a message that the daemon accepted.
func (c *campaign) mark(chat int, in channels.Inbound) (mark int, ok bool) {
	id := in.MessageID
	if c.people.id != nil {
		id = c.people.id(in)
	}
	i := slices.Index(c.talk.ids[chat], id)
	if i < 0 {
		return 0, false
	}
	return c.talk.sent[chat][i], true
}

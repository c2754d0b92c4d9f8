package irc

import (
	"context"
	"strings"

	"github.com/lrstanley/girc"

	"dragoman/channels"
)

// Typing shows that an answer is being written, if the network passes such tags on.
// It never delays messages: it uses only spare flood budget.
func (c *Channel) Typing(ctx context.Context, k channels.Key) error {
	s := c.current.Load()
	if s == nil {
		return nil
	}
	s.do(ctx, func() {
		if s.phase != ready || !s.net.caps["message-tags"] || s.limiter.Tokens() < 2 {
			return
		}
		var target string
		if name := k.Chat(); s.isChannel(name) {
			target, _, _ = s.roomTarget(name)
		} else if validTarget(name) {
			target, _ = s.personTarget("", name)
		}
		if target != "" {
			s.spend()
			e := girc.Event{Command: "TAGMSG", Params: []string{target}, Tags: girc.Tags{"+typing": "active"}}
			s.queue(outLine{text: e.String()})
		}
	})
	return nil
}

// replyTag is the tag by which clients link a line in a channel to the message it
// answers; nil if the network or the message has no ids.
func (s *session) replyTag(replyTo string) girc.Tags {
	fields := strings.Fields(replyTo)
	if len(fields) != 3 || !s.net.caps["message-tags"] {
		return nil
	}
	id, known := strings.CutPrefix(fields[2], msgidPrefix)
	if !known {
		return nil
	}
	return girc.Tags{"+draft/reply": id}
}

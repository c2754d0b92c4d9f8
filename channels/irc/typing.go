package irc

import (
	"context"
	"strings"

	"github.com/lrstanley/girc"

	"dragoman/channels"
)

// Typing shows that an answer is being written, where the network passes such
// signs on. It uses only what the flood budget has to spare.
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
			target, _, _ = s.aimRoom(name)
		} else if validTarget(name) {
			target, _ = s.aimPerson("", name)
		}
		if target != "" {
			s.spend()
			e := girc.Event{Command: "TAGMSG", Params: []string{target}, Tags: girc.Tags{"+typing": "active"}}
			s.pushLine(e.String())
		}
	})
	return nil
}

// replyTag says which message a line in a room answers, so that clients show
// the two together, or is nil where that does not travel.
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

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
	s := c.session()
	if s == nil {
		return nil
	}
	s.do(ctx, func() {
		if s.phase != ready || !s.net.caps["message-tags"] || s.net.noTyping || s.limiter.Tokens() < 2 {
			return
		}
		var target string
		if prefix, name := s.splitStatus(k.Chat()); s.isChannel(name) {
			target, _, _ = s.aimRoom(prefix, name)
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

// deniesTyping reads CLIENTTAGDENY: "*" forbids all tags but those after a "-".
func deniesTyping(value string) bool {
	denied := false
	for tag := range strings.SplitSeq(value, ",") {
		switch tag {
		case "*", "typing":
			denied = true
		case "-typing":
			return false
		}
	}
	return denied
}

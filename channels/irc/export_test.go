package irc

import (
	"context"

	"dragoman/channels"
)

// CanTalk says whether a message to k could leave now.
func (c *Channel) CanTalk(k channels.Key) error {
	s := c.session()
	if s == nil {
		return errNotConnected
	}
	_, _, err := s.aim(context.Background(), channels.Outbound{Key: k})
	return err
}

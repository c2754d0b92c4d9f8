package whatsapp

import (
	"context"
	"errors"
	"slices"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/types"
)

// markAnswered marks the messages up to the one that m answers as read, unless Typing has
// done so. It runs while m is sent, and neither delays it nor makes it fail.
func (k *connection) markAnswered(ctx context.Context, m channels.Outbound) {
	if m.ReplyTo == "" || k.c.o.NoReadMarks {
		return
	}
	ctx, leave, ok := k.enter(context.WithoutCancel(ctx))
	if !ok {
		return
	}
	go func() { // connection.close waits for it
		defer leave()
		ctx, cancel := context.WithTimeout(ctx, presenceTimeout)
		defer cancel()
		if err := k.markRead(ctx, m.Key, m.ReplyTo); err != nil {
			k.c.log.Debug("could not mark messages as read", "key", m.Key.String(), "err", err)
		}
	}()
}

// markRead marks the unread messages up to answered as read, or all of them if answered is
// "". WhatsApp wants one call per sender. If a call fails, its messages stay unmarked.
func (k *connection) markRead(ctx context.Context, key channels.Key, answered string) error {
	if k.c.o.NoReadMarks {
		return nil
	}
	chat, unread := k.c.memory.takeUnread(key.Chat(), answered)
	var errs []error
	for len(unread) > 0 {
		sender, last, ids := unread[0].sender, unread[0].at, []types.MessageID(nil)
		unread = slices.DeleteFunc(unread, func(m unreadMessage) bool {
			if m.sender != sender {
				return false
			}
			ids, last = append(ids, m.id), m.at
			return true
		})
		to := chat
		if chat.Server != types.GroupServer {
			to = sender // The chat may have the sender's other name.
		}
		errs = append(errs, k.client.MarkRead(ctx, ids, last, to, sender))
	}
	return errors.Join(errs...)
}

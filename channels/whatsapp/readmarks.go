package whatsapp

import (
	"context"
	"errors"
	"slices"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/types"
)

// answering marks as read what m answers, unless a sign of typing has done so
// before. It is done beside the sending, which it neither delays nor fails: a
// crash after m was delivered finds the mark delivered, or m is sent again.
func (k *connection) answering(ctx context.Context, m channels.Outbound) {
	if m.ReplyTo == "" || k.c.o.NoReadMarks {
		return
	}
	ctx, leave, ok := k.enter(context.WithoutCancel(ctx))
	if !ok {
		return
	}
	go func() { // close waits for it
		defer leave()
		ctx, cancel := context.WithTimeout(ctx, signLimit)
		defer cancel()
		if err := k.markRead(ctx, m.Key, m.ReplyTo); err != nil {
			k.c.log.Debug("not marked as read", "key", m.Key.String(), "err", err)
		}
	}()
}

// markRead marks what came in since the last time until the message answered,
// or all of it if answered is "": one sender at a time, as WhatsApp wants it. What
// cannot be marked stays unmarked.
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
			to = sender // also where an older one was addressed the other way
		}
		errs = append(errs, k.client.MarkRead(ctx, ids, last, to, sender))
	}
	return errors.Join(errs...)
}

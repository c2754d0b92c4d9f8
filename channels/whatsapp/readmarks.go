package whatsapp

import (
	"context"
	"errors"
	"time"

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
// or all of it if answered is "": one sender at a time, as WhatsApp wants it.
// What could not be marked is, the next time.
func (k *connection) markRead(ctx context.Context, key channels.Key, answered string) error {
	if k.c.o.NoReadMarks {
		return nil
	}
	chat, unread, known := k.c.memory.takeUnread(key.Chat(), answered)
	if !known {
		return k.markForgotten(ctx, key, answered)
	}
	bySender, order := map[types.JID][]unreadMessage{}, []types.JID{}
	for _, m := range unread {
		if bySender[m.sender] == nil {
			order = append(order, m.sender)
		}
		bySender[m.sender] = append(bySender[m.sender], m)
	}
	var errs []error
	var left []unreadMessage
	for _, sender := range order {
		to, ids, last := chat, []types.MessageID(nil), time.Time{}
		if chat.Server != types.GroupServer {
			to = sender // also where an older one was addressed the other way
		}
		for _, m := range bySender[sender] {
			ids, last = append(ids, m.id), m.at
		}
		if err := k.client.MarkRead(ctx, ids, last, to, sender); err != nil {
			errs, left = append(errs, err), append(left, bySender[sender]...)
		}
	}
	k.c.memory.giveBack(key.Chat(), left)
	return errors.Join(errs...)
}

// markForgotten marks a message that is answered and was taken before a
// restart. In private its sender is the one who gets the answer; in a group
// nobody knows who wrote it.
func (k *connection) markForgotten(ctx context.Context, key channels.Key, id string) error {
	chat, ok := named(key.Chat())
	self := identify(k.client.Store.GetJID(), k.client.Store.GetLID())
	if !ok || chat.Server == types.GroupServer || self.is(chat) {
		return nil
	}
	sender, err := k.addressed(ctx, key, chat)
	if err != nil || sender.IsEmpty() {
		return err
	}
	if err := k.client.MarkRead(ctx, []types.MessageID{id}, time.Now(), sender, sender); err != nil {
		return err
	}
	k.c.memory.marked(id)
	return nil
}

//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"errors"
	"slices"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
)

const (
	// presenceTimeout bounds a typing indicator or read mark, which is not worth a longer
	// wait.
	presenceTimeout = 10 * time.Second
	// onlineFor is how long we stay online after the last typing indicator. Meanwhile
	// the owner's phone gets no notifications.
	onlineFor = 30 * time.Second
)

// Typing shows that an answer is being written, and marks the messages of the chat as
// read. Without a connection it returns an error.
func (c *Channel) Typing(ctx context.Context, key channels.Key) error {
	to, err := c.parseKey(key)
	if err != nil {
		return err
	}
	k := c.live.Load()
	if k == nil {
		return c.notConnected()
	}
	ctx, cancel := context.WithTimeout(ctx, presenceTimeout)
	defer cancel()
	ctx, leave, ok := k.enter(ctx)
	if !ok {
		return c.notConnected()
	}
	defer leave()
	if to, err = k.recipient(ctx, key, to); err != nil {
		return err
	}
	return errors.Join(k.markRead(ctx, key, ""), k.typing(ctx, to))
}

// recipient is the address that WhatsApp uses for the conversation of key. WhatsApp
// ignores a typing indicator that is sent to the person's other name. After a restart
// recipient returns the LID, which WhatsApp prefers.
func (k *connection) recipient(ctx context.Context, key channels.Key, to types.JID) (types.JID, error) {
	if seen := k.c.memory.chatOf(key.Chat()); !seen.IsEmpty() {
		return seen, nil
	}
	who, err := k.file.complete(ctx, identify(to))
	if err == nil && !who.lid.IsEmpty() {
		to = who.lid
	}
	return to, err
}

// typing shows the typing indicator. People see it only while we are online.
func (k *connection) typing(ctx context.Context, to types.JID) error {
	if k.c.o.NoTyping {
		return nil
	}
	k.mu.Lock()
	online := k.online
	k.online, k.lastSign = true, time.Now()
	k.mu.Unlock()
	if !online {
		if err := k.client.SendPresence(ctx, types.PresenceAvailable); err != nil {
			k.mu.Lock()
			k.online = false
			k.mu.Unlock()
			if !errors.Is(err, whatsmeow.ErrNoPushName) { // The phone has not sent our name yet.
				return err
			}
		}
	}
	return k.client.SendChatPresence(ctx, to, types.ChatPresenceComposing, types.ChatPresenceMediaText)
}

// goOffline makes us offline if onlineFor has passed. watch calls it often.
func (k *connection) goOffline(ctx context.Context) {
	k.mu.Lock()
	due := k.online && time.Since(k.lastSign) > k.c.onlineFor
	if due {
		k.online = false
	}
	k.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, presenceTimeout)
	defer cancel()
	if err := k.client.SendPresence(ctx, types.PresenceUnavailable); err != nil {
		k.c.log.Debug("could not go offline", "err", err)
	}
}

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
		sender := unread[0].sender
		last := unread[0].at
		var ids []types.MessageID
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

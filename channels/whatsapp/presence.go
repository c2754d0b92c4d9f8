package whatsapp

import (
	"context"
	"errors"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
)

const (
	// signLimit bounds one sign: it is not worth waiting for. What it marks as
	// read stays unmarked if it is missed.
	signLimit = 10 * time.Second
	// onlineFor is how long we stay online after the last sign. While we are,
	// WhatsApp leaves the owner's phone without notifications.
	onlineFor = 30 * time.Second
)

// Typing shows that an answer is being written, and that what it answers was
// read. Both are only signs: they are left out while there is no connection.
func (c *Channel) Typing(ctx context.Context, key channels.Key) error {
	to, err := c.place(key)
	if err != nil {
		return err
	}
	k := c.live.Load()
	if k == nil {
		return c.notConnected()
	}
	ctx, cancel := context.WithTimeout(ctx, signLimit)
	defer cancel()
	ctx, leave, ok := k.enter(ctx)
	if !ok {
		return c.notConnected()
	}
	defer leave()
	if to, err = k.addressed(ctx, key, to); err != nil {
		return err
	}
	return errors.Join(k.markRead(ctx, key, ""), k.typing(ctx, to))
}

// addressed is how WhatsApp addresses a conversation whose key names to: it
// ignores signs that are addressed the other way. What is not known any more
// since a restart is by LID, which is how WhatsApp begins one now.
func (k *connection) addressed(ctx context.Context, key channels.Key, to types.JID) (types.JID, error) {
	if seen := k.c.memory.chatOf(key.Chat()); !seen.IsEmpty() {
		return seen, nil
	}
	who, err := k.file.complete(ctx, identify(to))
	if err == nil && !who.lid.IsEmpty() {
		to = who.lid
	}
	return to, err
}

// typing shows the sign. People see it only from somebody who is online.
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
			if !errors.Is(err, whatsmeow.ErrNoPushName) { // the phone has not told it yet
				return err
			}
		}
	}
	return k.client.SendChatPresence(ctx, to, types.ChatPresenceComposing, types.ChatPresenceMediaText)
}

// goOffline is called now and then.
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
	ctx, cancel := context.WithTimeout(ctx, signLimit)
	defer cancel()
	if err := k.client.SendPresence(ctx, types.PresenceUnavailable); err != nil {
		k.c.log.Debug("going offline failed", "err", err)
	}
}

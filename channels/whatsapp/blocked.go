//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"errors"
	"sync"
	"time"

	"dragoman/channels"
)

// blockedPause is how long we wait before we try again in a chat in which we may not
// write, if nothing there tells us to try earlier.
const blockedPause = 30 * time.Minute

// errBlocked is in the errors of messages to such a chat. They are not given up: groups
// take people back, and strangers write first.
var errBlocked = errors.New("whatsapp: we may not write there; the message waits until we may")

// retryBlocked says that the message was not sent, so that trying again cannot repeat it.
func retryBlocked(wait time.Duration, cause error) error {
	return &channels.Retry{After: wait, Err: &channels.NotSent{Err: cause}}
}

// blockedChats are the chats in which we may not write. They are only in memory: after a
// restart, WhatsApp's refusals fill them again.
type blockedChats struct {
	mu    sync.Mutex
	until map[string]time.Time // by the chat of a key
}

func (s *blockedChats) add(chat string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = map[string]time.Time{}
	}
	s.until[chat] = time.Now().Add(blockedPause)
}

// retryIn is how long to wait before the next attempt in chat; 0 or less if nothing blocks
// it.
func (s *blockedChats) retryIn(chat string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(s.until[chat])
}

// has reports whether chat is blocked, or was until its pause ended.
func (s *blockedChats) has(chat string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, has := s.until[chat]
	return has
}

// forget reports whether chat was blocked, or had been until its pause ended.
func (s *blockedChats) forget(chat string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, was := s.until[chat]
	delete(s.until, chat)
	return was
}

// reopen makes the messages due that wait for a chat, because something happened there
// that is a reason to try: a person wrote, a group asks us something, or it has changed.
func (k *connection) reopen(ctx context.Context, chat string) {
	if !k.c.blocked.forget(chat) {
		return
	}
	o, ok := k.in.(channels.Opener)
	key, err := channels.NewKey(k.c.name, chat)
	if !ok || err != nil {
		return // Nothing waits for a chat without a valid key.
	}
	if err := o.Opened(ctx, key); err != nil {
		k.c.blocked.add(chat)
		k.c.log.Warn("could not wake the messages that wait for a chat; they are tried again after a pause", "key", key, "err", err)
	}
}

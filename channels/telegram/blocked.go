package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"dragoman/channels"

	"github.com/go-telegram/bot/models"
)

// blockedPause is how long we wait before we try again in a chat that blocked the
// bot. Telegram says when the bot may write again, but that update can be lost.
const blockedPause = 30 * time.Minute

// blockedChats are the chats in which the bot cannot write: it was blocked, removed
// or muted, or the person has never written to it. They are only in memory. After a
// restart, Telegram's refusals fill them again.
type blockedChats struct{ until sync.Map } // chat id → time.Time

func (s *blockedChats) add(chat int64) { s.until.Store(chat, time.Now().Add(blockedPause)) }

// retryIn is how long to wait before the next attempt in chat; 0 or less if it is
// not blocked.
func (s *blockedChats) retryIn(chat int64) time.Duration {
	until, known := s.until.Load(chat)
	if !known {
		return 0
	}
	return time.Until(until.(time.Time))
}

// errBlocked is in the errors of messages to a chat in which the bot may not
// write. They are not given up: people unblock bots.
var errBlocked = errors.New("telegram: the bot was blocked or removed, or may not write; the message waits until it may")

// retryBlocked says that the message was not sent, so that trying again cannot
// repeat it.
func retryBlocked(wait time.Duration, cause error) error {
	return &channels.Retry{After: wait, Err: &channels.NotSent{Err: cause}}
}

// isBlocked reports whether err says that the bot cannot write in the chat now, but
// may be able to later.
func isBlocked(err error) bool {
	r := (*apiError)(nil)
	if !errors.As(err, &r) || r.code != http.StatusForbidden && r.code != http.StatusBadRequest {
		return false
	}
	return r.contains("blocked by the user", "bot was kicked", "bot is not a member", "can't initiate conversation",
		"not enough rights", "have no rights to send", "CHAT_WRITE_FORBIDDEN", "need administrator rights")
}

// chatError classifies the error of a call about chat, as [classify] does, and
// remembers that the chat blocked the bot.
func (c *Channel) chatError(chat int64, err error) error {
	if !isBlocked(err) {
		return classify(err)
	}
	c.blocked.add(chat)
	return retryBlocked(blockedPause, fmt.Errorf("%w: %w", errBlocked, err))
}

// onMembership handles that the bot was added to a chat, removed, blocked or
// muted. That is how it learns at once when it may write again.
func (c *Channel) onMembership(ctx context.Context, in channels.Intake, u *models.ChatMemberUpdated) error {
	key := fmt.Sprintf("%s:%d", c.name, u.Chat.ID)
	if !mayWrite(&u.NewChatMember) {
		c.blocked.add(u.Chat.ID)
		c.log.Info("the bot was blocked or removed, or may no longer write; answers wait", "key", key)
		return nil
	}
	if mayWrite(&u.OldChatMember) && c.blocked.retryIn(u.Chat.ID) <= 0 {
		return nil // It could write before: it was made an administrator, for example.
	}
	c.log.Info("the bot may write in the chat", "key", key)
	return c.unblock(ctx, in, u.Chat.ID)
}

// unblock makes the messages due that wait for chat.
func (c *Channel) unblock(ctx context.Context, in channels.Intake, chat int64) error {
	c.blocked.until.Delete(chat)
	o, ok := in.(channels.Opener)
	if !ok {
		return nil
	}
	k, err := channels.NewKey(c.name, strconv.FormatInt(chat, 10))
	if err != nil {
		return nil // Nothing waits for a chat without a valid key.
	}
	if err := o.Opened(ctx, k); err != nil {
		c.blocked.add(chat) // The update comes again, and then its chat must still be blocked.
		return err
	}
	return nil
}

func mayWrite(m *models.ChatMember) bool {
	switch m.Type {
	case models.ChatMemberTypeLeft, models.ChatMemberTypeBanned:
		return false
	case models.ChatMemberTypeRestricted:
		return m.Restricted.IsMember && m.Restricted.CanSendMessages
	}
	return true
}

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

// shutFor is how long nothing is tried in a chat that does not hear the bot:
// Telegram says when it is let in again, but that may be lost.
const shutFor = 30 * time.Minute

// shut are the chats that do not hear the bot: it was blocked or removed, may
// not write, or the person never began. It is in memory, and learnt again from
// what Telegram refuses.
type shut struct{ until sync.Map } // a time.Time for each chat

func (s *shut) add(chat int64) { s.until.Store(chat, time.Now().Add(shutFor)) }

// left is how long nothing is tried in chat.
func (s *shut) left(chat int64) time.Duration {
	until, known := s.until.Load(chat)
	if !known {
		return 0
	}
	return time.Until(until.(time.Time))
}

// errShut is why nothing is sent to such a chat.
var errShut = errors.New("telegram: the bot was blocked or removed, or may not write; this waits until it may")

// held is the error of a message for a chat that does not hear the bot.
func held(wait time.Duration, cause error) error {
	return &channels.Retry{After: wait, Err: &channels.NotSent{Err: cause}}
}

// shuts reports whether err says that the chat does not hear the bot, and may
// do so again.
func shuts(err error) bool {
	r := (*refusal)(nil)
	if !errors.As(err, &r) || r.code != http.StatusForbidden && r.code != http.StatusBadRequest {
		return false
	}
	return r.says("blocked by the user", "bot was kicked", "bot is not a member", "can't initiate conversation",
		"not enough rights", "have no rights to send", "CHAT_WRITE_FORBIDDEN", "need administrator rights")
}

// learn is outcome for a call about chat; it notes what is learnt about it.
func (c *Channel) learn(chat int64, err error) error {
	if !shuts(err) {
		return outcome(err)
	}
	c.shut.add(chat)
	return held(shutFor, fmt.Errorf("%w: %w", errShut, err))
}

// standing takes in that somebody let the bot into a chat, or put it out.
func (c *Channel) standing(ctx context.Context, in channels.Intake, u *models.ChatMemberUpdated) error {
	key := fmt.Sprintf("%s:%d", c.name, u.Chat.ID)
	if !mayWrite(&u.NewChatMember) {
		c.shut.add(u.Chat.ID)
		c.log.Info("the bot was blocked or removed, or may not write any more; answers wait", "key", key)
		return nil
	}
	if mayWrite(&u.OldChatMember) && c.shut.left(u.Chat.ID) <= 0 {
		return nil // it was made an administrator, say
	}
	c.log.Info("the bot may write in a chat", "key", key)
	return c.opened(ctx, in, u.Chat.ID)
}

// opened makes what waits for chat go out.
func (c *Channel) opened(ctx context.Context, in channels.Intake, chat int64) error {
	c.shut.until.Delete(chat)
	o, able := in.(channels.Opener)
	if !able {
		return nil
	}
	k, err := channels.NewKey(c.name, strconv.FormatInt(chat, 10))
	if err != nil {
		return nil // a chat without a number has no answers either
	}
	if err := o.Opened(ctx, k); err != nil {
		c.shut.add(chat) // it is tried again
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

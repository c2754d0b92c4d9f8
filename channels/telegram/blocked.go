package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"dragoman/channels"

	"github.com/go-telegram/bot/models"
)

// blockedPause is how long we wait before we try again in a chat that blocked the
// bot. Telegram says when the bot may write again, but that update can be lost.
const blockedPause = 30 * time.Minute

// wholeChat stands for all topics of a chat, and generalTopic is Telegram's number of the
// one that messages name by naming none.
const (
	wholeChat    = 0
	generalTopic = 1
)

func topicOf(topic int) int { return cmp.Or(topic, generalTopic) }

// blockedChats are the places in which the bot cannot write: the chat has blocked,
// removed or muted it, or the person has never written to it, or the topic is closed.
// They are only in memory. After a restart, Telegram's refusals fill them again, but the
// deliveries that they put off are still put off.
type blockedChats struct {
	mu    sync.Mutex
	until map[int64]map[int]time.Time // by chat and topic, or wholeChat
	// opened has the chats whose rights may have changed since the start, and the number
	// of the newest such change.
	opened  map[int64]int
	changes int
}

// maxOpened bounds opened. A forgotten chat costs a look at its deliveries.
const maxOpened = 1000

// now is the number of the newest change, which a call remembers before it is made.
func (s *blockedChats) now() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// add notes a refusal. It returns false if the rights of chat have changed since, so that
// the refusal may be out of date.
func (s *blockedChats) add(chat int64, topic, since int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened[chat] > since {
		return false
	}
	if s.until == nil {
		s.until = map[int64]map[int]time.Time{}
	}
	if s.until[chat] == nil {
		s.until[chat] = map[int]time.Time{}
	}
	s.until[chat][topic] = time.Now().Add(blockedPause)
	return true
}

// retryIn is how long to wait before the next attempt in a topic of chat; 0 or less if
// nothing blocks it.
func (s *blockedChats) retryIn(chat int64, topic int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	places := s.until[chat]
	return max(time.Until(places[wholeChat]), time.Until(places[topicOf(topic)]))
}

// mayWait reports whether messages of chat may wait for a place: one is blocked, or an
// earlier process may have met one that was.
func (s *blockedChats) mayWait(chat int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, opened := s.opened[chat]
	return len(s.until[chat]) > 0 || !opened
}

// any reports whether a place in chat is blocked, or was until its pause ended.
func (s *blockedChats) any(chat int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.until[chat]) > 0
}

// forget is for a chat whose rights may have changed.
func (s *blockedChats) forget(chat int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.until, chat)
	if s.opened == nil || len(s.opened) >= maxOpened {
		s.opened = map[int64]int{}
	}
	s.changes++
	s.opened[chat] = s.changes
}

// errBlocked is in the errors of messages to a chat in which the bot may not
// write, and errClosed in those to a closed topic. They are not given up: people unblock
// bots and open topics.
var (
	errBlocked = errors.New("telegram: the bot was blocked or removed, or may not write; the message waits until it may")
	errClosed  = errors.New("telegram: the topic is closed; the message waits until it is open")
)

// retryBlocked says that the message was not sent, so that trying again cannot
// repeat it.
func retryBlocked(wait time.Duration, cause error) error {
	return &channels.Retry{After: wait, Err: &channels.NotSent{Err: cause}}
}

// onMembership handles that the bot was added to a chat, removed, blocked or
// muted. That is how it learns at once when it may write again.
func (c *Channel) onMembership(ctx context.Context, in channels.Intake, u *models.ChatMemberUpdated) error {
	key := fmt.Sprintf("%s:%d", c.name, u.Chat.ID)
	if !mayWrite(&u.NewChatMember) {
		c.blocked.add(u.Chat.ID, wholeChat, c.blocked.now())
		c.log.Info("the bot was blocked or removed, or may no longer write; answers wait", "key", key)
		return nil
	}
	if mayWrite(&u.OldChatMember) && !c.blocked.any(u.Chat.ID) {
		return nil // It could write before: it was made an administrator, for example.
	}
	c.log.Info("the bot may write in the chat", "key", key)
	return c.unblock(ctx, in, u.Chat.ID)
}

// unblock makes the messages due that wait for chat.
func (c *Channel) unblock(ctx context.Context, in channels.Intake, chat int64) error {
	c.blocked.forget(chat)
	o, ok := in.(channels.Opener)
	if !ok {
		return nil
	}
	k, err := channels.NewKey(c.name, strconv.FormatInt(chat, 10))
	if err != nil {
		return nil // Nothing waits for a chat without a valid key.
	}
	if err := o.Opened(ctx, k); err != nil {
		c.blocked.add(chat, wholeChat, c.blocked.now()) // The update comes again, and then its chat must still be blocked.
		return err
	}
	return nil
}

// wakes reports whether m may end the wait of messages to its chat. In private chats
// that does not look for messages which an earlier process put off: Telegram says when
// somebody unblocks the bot.
//
// A reason to try again is that a topic was opened, that a person writes, who then has not
// blocked the bot, or that a group asks what the bot answers. Whether it does is asked
// only where messages may wait.
func (c *Channel) wakes(m *models.Message, answered func() bool) bool {
	switch {
	case m.Chat.ID > 0:
		return c.blocked.any(m.Chat.ID)
	case m.ForumTopicReopened != nil, m.GeneralForumTopicUnhidden != nil:
		return true
	}
	return c.blocked.mayWait(m.Chat.ID) && answered()
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

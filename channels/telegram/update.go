package telegram

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"dragoman/channels"

	"github.com/go-telegram/bot/models"
)

// update is one update of a batch. One that cannot be decoded is kept as well, to
// be quarantined.
type update struct {
	id      int64
	raw     json.RawMessage
	decoded *models.Update // nil if err is not
	err     error          // why it could not be decoded
}

// handInBatch hands a batch to the intake and returns the offset that confirms it (0 if
// no update has an id). It returns false if ctx ended before all of it was stored.
func (c *Channel) handInBatch(ctx context.Context, in channels.Intake, batch []json.RawMessage) (int64, bool) {
	var order []int64 // chats by first appearance; 0 for updates of no chat
	byChat := map[int64][]update{}
	var next int64
	for _, raw := range batch {
		a := decode(raw)
		if a.id > 0 {
			next = max(next, a.id+1)
		}
		chat := a.chat()
		if _, known := byChat[chat]; !known {
			order = append(order, chat)
		}
		byChat[chat] = append(byChat[chat], a)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxParallelChats)
	for _, chat := range order {
		slots <- struct{}{} // The goroutines that hold slots end when ctx does.
		wg.Go(func() {
			defer func() { <-slots }()
			c.addressAlbums(byChat[chat])
			for _, a := range byChat[chat] {
				if !c.persist(ctx, in, a) {
					return
				}
			}
		})
	}
	wg.Wait()
	return next, ctx.Err() == nil
}

// decode also finds the id of an update that it cannot decode, so that this one can still
// be confirmed.
func decode(raw json.RawMessage) update {
	u := new(models.Update)
	err := json.Unmarshal(raw, u)
	if err == nil {
		return update{id: u.ID, raw: raw, decoded: u}
	}
	var head struct {
		ID int64 `json:"update_id"`
	}
	if noID := json.Unmarshal(raw, &head); noID != nil && head.ID == 0 {
		return update{raw: raw, err: fmt.Errorf("telegram: decode update_id: %w", noID)}
	}
	return update{id: head.ID, raw: raw, err: fmt.Errorf("telegram: decode update %d: %w", head.ID, err)}
}

// key is the update's Inbound.ID.
func (a update) key() string {
	if a.id > 0 {
		return strconv.FormatInt(a.id, 10)
	}
	sum := sha256.Sum256(a.raw)
	return "unreadable-" + hex.EncodeToString(sum[:12])
}

// chat is the chat that the update is about, or 0.
func (a update) chat() int64 {
	m, _ := a.message()
	switch {
	case m != nil:
		return m.Chat.ID
	case a.decoded == nil:
	case a.decoded.MyChatMember != nil:
		return a.decoded.MyChatMember.Chat.ID
	case a.decoded.CallbackQuery != nil && a.decoded.CallbackQuery.Message.Message != nil:
		return a.decoded.CallbackQuery.Message.Message.Chat.ID
	}
	return 0
}

// message is the message in the update; nil if it has none.
func (a update) message() (m *models.Message, edited bool) {
	switch u := a.decoded; {
	case u == nil:
		return nil, false
	case u.Message != nil:
		return u.Message, false
	case u.ChannelPost != nil:
		return u.ChannelPost, false
	case u.EditedMessage != nil:
		return u.EditedMessage, true
	default:
		return u.EditedChannelPost, u.EditedChannelPost != nil
	}
}

// persist hands a to the intake until that stores it. It returns false if ctx ended
// first.
func (c *Channel) persist(ctx context.Context, in channels.Intake, a update) bool {
	var tries channels.Backoff
	for ctx.Err() == nil {
		err := c.handIn(ctx, in, a)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		wait := tries.Next()
		c.log.Warn("could not store a message, will try again", "msg_id", a.key(), "err", err, "attempt", tries.Failed, "wait", wait)
		channels.Sleep(ctx, wait)
	}
	return false
}

// handIn stores what an update says, or quarantines the update. After nil the
// update may be confirmed to Telegram.
func (c *Channel) handIn(ctx context.Context, in channels.Intake, a update) error {
	if a.decoded == nil {
		c.log.Error("quarantined an update that cannot be decoded", "msg_id", a.key(), "err", a.err)
		return in.Quarantine(ctx, c.name, a.key(), a.raw, a.err)
	}
	switch {
	case a.decoded.CallbackQuery != nil:
		return c.onPress(ctx, in, a.key(), a.decoded.CallbackQuery)
	case a.decoded.MyChatMember != nil:
		return c.onMembership(ctx, in, a.decoded.MyChatMember)
	}
	message, edited := a.message()
	if message == nil {
		c.log.Debug("ignored an update without a message", "msg_id", a.key())
		return nil
	}
	if message.IsTopicMessage {
		c.lost.forget(message.Chat.ID, message.MessageThreadID)
	}
	c.learnName(ctx, message)
	m, ok, err := c.inbound(a.key(), message, edited)
	answered := func() bool { return ok && channels.Answers(ctx, in, m) }
	if c.wakes(message, answered) {
		if failed := c.unblock(ctx, in, message.Chat.ID); failed != nil {
			return failed
		}
	}
	switch {
	case err != nil:
		return in.Quarantine(ctx, c.name, a.key(), a.raw, err)
	case !ok:
		c.log.Debug("ignored a message that is not for the bot", "msg_id", a.key())
		return nil
	}
	return in.Accept(ctx, m)
}

// inbound is convert, but returns a panic as an error. A message that triggers a bug
// of ours is then quarantined, and does not crash the daemon at every start.
func (c *Channel) inbound(id string, m *models.Message, edited bool) (in channels.Inbound, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("telegram: convert update %s: panic of type %T", id, p)
		}
	}()
	return c.convert(id, m, edited)
}

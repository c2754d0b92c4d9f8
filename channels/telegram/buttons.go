package telegram

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"dragoman/channels"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// button is one that a message has under it; none if empty.
type button string

const (
	stopButton  button = "Stop"  // under an answer that is being written
	againButton button = "Again" // under one that is finished, between two people
)

// commands are what a press on a button stands for.
var commands = map[string]string{string(stopButton): "/stop", string(againButton): "/again"}

// markup is the button as Telegram takes it.
func (b button) markup() *models.InlineKeyboardMarkup {
	return &models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{{{Text: string(b), CallbackData: string(b)}}}}
}

// What somebody reads whose press on a button does nothing.
const (
	sayTooOld   = "This button is too old. Please write to me instead."
	sayNotYours = "Only the person who asked, or an administrator, can stop this answer."
)

// press hands a press on a button in, as the command that it stands for, and
// then answers it: Telegram shows a press as waiting until then. If that fails,
// the sign of waiting goes by itself.
func (c *Channel) press(ctx context.Context, in channels.Intake, id string, q *models.CallbackQuery) error {
	say, err := c.pressed(ctx, in, id, q)
	if err != nil {
		return err
	}
	_, err = c.api.call(ctx, "answerCallbackQuery", bot.AnswerCallbackQueryParams{CallbackQueryID: q.ID, Text: say}, showLimit)
	if err != nil {
		c.log.Debug("could not answer the press of a button", "msg_id", id, "err", err)
	}
	return nil
}

// pressed returns what to say to who pressed.
func (c *Channel) pressed(ctx context.Context, in channels.Intake, id string, q *models.CallbackQuery) (string, error) {
	m, command := q.Message.Message, commands[q.Data]
	if m == nil || command == "" {
		return sayTooOld, nil
	}
	key, err := c.key(m)
	if err != nil {
		return sayTooOld, nil
	}
	press := channels.Inbound{
		Key: key, ID: id, Sender: sender(&models.Message{From: &q.From}), Text: command,
		Private: m.Chat.Type == models.ChatTypePrivate, Addressed: true, Quote: &channels.Quote{ID: strconv.Itoa(m.ID)},
	}
	if m.ReplyToMessage != nil {
		press.MessageID = strconv.Itoa(m.ReplyToMessage.ID)
	}
	if !press.Private && !c.mayStop(ctx, m, q.From.ID) {
		return sayNotYours, nil
	}
	if p, able := in.(channels.Presser); able {
		return p.Press(ctx, press)
	}
	return "", in.Accept(ctx, press)
}

// mayStop reports whether who may press Stop under m, an answer in a group:
// whoever asked, or an administrator. A finger slips easily where many read.
func (c *Channel) mayStop(ctx context.Context, m *models.Message, who int64) bool {
	asked := m.ReplyToMessage
	if asked == nil || asked.From != nil && asked.From.ID == who {
		return true
	}
	result, err := c.api.call(ctx, "getChatMember", bot.GetChatMemberParams{ChatID: m.Chat.ID, UserID: who}, showLimit)
	var member struct {
		Status models.ChatMemberType `json:"status"`
	}
	if err != nil || json.Unmarshal(result, &member) != nil {
		return false
	}
	return member.Status == models.ChatMemberTypeOwner || member.Status == models.ChatMemberTypeAdministrator
}

const (
	// mostOffered bounds the chats whose buttons are remembered.
	mostOffered = 10_000
	// mostOffers bounds the buttons of a chat. Only an answer that is seen growing
	// takes them away, and there may be none.
	mostOffers = 16
)

// offers are the newest messages that have Again under them, by chat. It is in
// memory: a button from before a restart stays until somebody presses it.
type offers struct {
	mu sync.Mutex
	m  map[int64][]int
}

func (o *offers) add(chat int64, message int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.m == nil || len(o.m) >= mostOffered {
		o.m = map[int64][]int{}
	}
	all := o.m[chat]
	if len(all) >= mostOffers {
		all = slices.Delete(all, 0, 1)
	}
	o.m[chat] = append(all, message)
}

func (o *offers) take(chat int64) []int {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.m[chat]
	delete(o.m, chat)
	return all
}

// withdraw takes Again away from the answers before the one that is being
// written.
func (c *Channel) withdraw(ctx context.Context, chat int64) {
	for _, message := range c.offers.take(chat) {
		params := bot.EditMessageReplyMarkupParams{ChatID: chat, MessageID: message}
		if _, err := c.api.call(ctx, "editMessageReplyMarkup", params, showLimit); err != nil {
			c.log.Debug("could not remove an old button", "msg_id", strconv.Itoa(message), "err", err)
		}
	}
}

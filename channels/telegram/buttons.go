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

// button is the label of the button under a message; "" for none.
type button string

const (
	stopButton  button = "Stop"  // under an unfinished answer
	againButton button = "Again" // under a finished answer in a private chat
)

// commands maps each button to the command that a press gives.
var commands = map[string]string{string(stopButton): "/stop", string(againButton): "/again"}

func (b button) markup() *models.InlineKeyboardMarkup {
	return &models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{{{Text: string(b), CallbackData: string(b)}}}}
}

// Telegram shows these to a person whose press did nothing.
const (
	noticeTooOld   = "This button is too old. Please write to me instead."
	noticeNotYours = "Only the person who asked, or an administrator, can stop this answer."
)

// onPress hands the press of a button to the intake as a command, and then answers
// it, because Telegram shows a spinner on the button until then. If the answer fails,
// the spinner ends by itself.
func (c *Channel) onPress(ctx context.Context, in channels.Intake, id string, q *models.CallbackQuery) error {
	notice, err := c.handInPress(ctx, in, id, q)
	if err != nil {
		return err
	}
	_, err = c.api.call(ctx, "answerCallbackQuery", bot.AnswerCallbackQueryParams{CallbackQueryID: q.ID, Text: notice}, showTimeout)
	if err != nil {
		c.log.Debug("could not answer a button press", "msg_id", id, "err", err)
	}
	return nil
}

// handInPress returns the text that Telegram shows to the person who pressed.
func (c *Channel) handInPress(ctx context.Context, in channels.Intake, id string, q *models.CallbackQuery) (string, error) {
	m, command := q.Message.Message, commands[q.Data]
	if m == nil || command == "" {
		return noticeTooOld, nil
	}
	key, err := c.keyOf(m)
	if err != nil {
		return noticeTooOld, nil
	}
	press := channels.Inbound{
		Key: key, ID: id, Sender: sender(&models.Message{From: &q.From}), Text: command,
		Private: m.Chat.Type == models.ChatTypePrivate, Addressed: true, Quote: &channels.Quote{ID: strconv.Itoa(m.ID)},
	}
	if m.ReplyToMessage != nil {
		press.MessageID = strconv.Itoa(m.ReplyToMessage.ID)
	}
	if !press.Private && !c.mayStop(ctx, m, q.From.ID) {
		return noticeNotYours, nil
	}
	if p, ok := in.(channels.Presser); ok {
		return p.Press(ctx, press)
	}
	return "", in.Accept(ctx, press)
}

// mayStop reports whether the user who may press Stop under m, an answer in a group.
// Only the person who asked and administrators may, because it is easy to tap by
// mistake.
func (c *Channel) mayStop(ctx context.Context, m *models.Message, who int64) bool {
	asked := m.ReplyToMessage
	if asked == nil || asked.From != nil && asked.From.ID == who {
		return true
	}
	result, err := c.api.call(ctx, "getChatMember", bot.GetChatMemberParams{ChatID: m.Chat.ID, UserID: who}, showTimeout)
	var member struct {
		Status models.ChatMemberType `json:"status"`
	}
	if err != nil || json.Unmarshal(result, &member) != nil {
		return false
	}
	return member.Status == models.ChatMemberTypeOwner || member.Status == models.ChatMemberTypeAdministrator
}

const (
	// maxButtonChats bounds the chats whose Again buttons are remembered.
	maxButtonChats = 10_000
	// maxButtonsPerChat bounds them in one chat. Only Typing removes them, and it may
	// never be called.
	maxButtonsPerChat = 16
)

// againButtons are the newest messages with an Again button, by chat. They are only
// in memory: a button from before a restart stays under its message.
type againButtons struct {
	mu sync.Mutex
	m  map[int64][]int
}

func (o *againButtons) add(chat int64, message int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.m == nil || len(o.m) >= maxButtonChats {
		o.m = map[int64][]int{}
	}
	all := o.m[chat]
	if len(all) >= maxButtonsPerChat {
		all = slices.Delete(all, 0, 1)
	}
	o.m[chat] = append(all, message)
}

// take returns the messages with a button in chat and forgets them, so that each
// button is removed once.
func (o *againButtons) take(chat int64) []int {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.m[chat]
	delete(o.m, chat)
	return all
}

// removeAgainButtons removes Again from the answers before the one that is being
// written.
func (c *Channel) removeAgainButtons(ctx context.Context, chat int64) {
	for _, message := range c.againButtons.take(chat) {
		params := bot.EditMessageReplyMarkupParams{ChatID: chat, MessageID: message}
		if _, err := c.api.call(ctx, "editMessageReplyMarkup", params, showTimeout); err != nil {
			c.log.Debug("could not remove an old button", "msg_id", strconv.Itoa(message), "err", err)
		}
	}
}

package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"dragoman/channels"
	"dragoman/channels/markup"
	"dragoman/internal/lazily"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// button is the label of a button that is alone under a message.
type button string

const (
	stopButton  button = "Stop"  // under an unfinished answer
	againButton button = "Again" // under a finished answer in a private chat
)

// commands maps each button to the command that a press gives.
var commands = map[string]string{string(stopButton): "/stop", string(againButton): "/again"}

// keys are the buttons under a message, in one row.
type keys []models.InlineKeyboardButton

func keysOf(b button) keys { return keys{{Text: string(b), CallbackData: string(b)}} }

// keysOfChoices are the buttons for the answers to a question.
func keysOfChoices(list []channels.Choice) (k keys) {
	for _, c := range list {
		k = append(k, models.InlineKeyboardButton{Text: c.Label, CallbackData: choicePrefix + c.Command + ":" + c.Subject})
	}
	return k
}

func (k keys) markup() *models.InlineKeyboardMarkup {
	return &models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{k}}
}

// choicePrefix begins the data of a button that answers a question.
const choicePrefix = "a:"

// choiceForm is that data, also of a button that puts off a reminder. A changed client can send any data, so it must not become any
// command.
var choiceForm = lazily.Compile(`^` + choicePrefix + `(allow|always|deny|snooze):([a-z0-9]{1,40})$`)

// choice is the command that the data of a pressed button means, "" if it answers no
// question.
func choice(data string) string {
	found := choiceForm.Regexp().FindStringSubmatch(data)
	if found == nil {
		return ""
	}
	return "/" + found[1] + " " + found[2]
}

// Telegram shows these to a person whose press did nothing.
const (
	noticeTooOld   = "This button is too old. Please write to me instead."
	noticeNotYours = "Only the person who asked, or an administrator, can stop this answer."
)

// maxNotice is how much of a notice Telegram shows, in bytes to be safe.
const maxNotice = 200

// onPress hands the press of a button to the intake as a command, and then answers
// it, because Telegram shows a spinner on the button until then. If the answer fails,
// the spinner ends by itself.
func (c *Channel) onPress(ctx context.Context, in channels.Intake, id string, q *models.CallbackQuery) error {
	notice, err := c.handInPress(ctx, in, id, q)
	if err != nil {
		return err
	}
	_, err = c.api.call(ctx, "answerCallbackQuery", bot.AnswerCallbackQueryParams{CallbackQueryID: q.ID, Text: markup.Clip(notice, maxNotice)}, showTimeout)
	if err != nil {
		c.log.Debug("could not answer a button press", "msg_id", id, "err", err)
	}
	return nil
}

// handInPress returns the text that Telegram shows to the person who pressed.
func (c *Channel) handInPress(ctx context.Context, in channels.Intake, id string, q *models.CallbackQuery) (string, error) {
	m := q.Message.Message
	chosen := choice(q.Data)
	command := cmp.Or(chosen, commands[q.Data])
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
	// Who may answer a question is for the intake to know.
	if !press.Private && chosen == "" && !c.mayStop(ctx, m, q.From.ID) {
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

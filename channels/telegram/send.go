package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"dragoman/channels"
	"dragoman/channels/markup"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// Send delivers m and returns when Telegram has answered with the message. It works
// without Run. If Telegram refuses a part of m (its markup, its topic, its file), Send
// sends m without it; see [refusals]. Its errors:
//
//   - [channels.ErrPermanent]: Telegram will never accept m, for example because the
//     chat or the account is gone.
//   - [*channels.Retry]: Telegram said when to come back, or the chat has blocked or
//     removed the bot, or its topic is closed. Nothing was sent.
//   - [*channels.NotSent]: there was no connection, or Telegram refuses the token (see
//     Status). Nothing was sent.
//   - any other: m may have been sent. Telegram offers no way to find out.
//
// An edit that would change nothing succeeds. If the message to edit is gone, Send
// sends a new one.
func (c *Channel) Send(ctx context.Context, m channels.Outbound) (channels.Receipt, error) {
	chat, topic, err := c.parseKey(m.Key)
	if err != nil {
		return channels.Receipt{}, err
	}
	if wait := c.blocked.retryIn(chat, topic); wait > 0 {
		return channels.Receipt{}, retryBlocked(wait, errBlocked)
	}
	since := c.blocked.now()
	page := render(m.Text)
	if m.Finishes && chat > 0 {
		page.keys = keysOf(againButton)
	}
	if len(m.Choices) > 0 {
		page.keys = keysOfChoices(m.Choices)
	}
	id, err := c.deliver(ctx, m, form{chat: chat, topic: topic, reply: replyTarget(chat, m.ReplyTo), page: page, file: m.File})
	if err == nil && id != 0 && m.Finishes && chat > 0 && len(m.Choices) == 0 && m.File == nil {
		c.againButtons.add(chat, id)
	}
	return receipt(id), c.chatError(chat, topic, since, err)
}

// deliver sends m as a file, an edit or a new message, and returns the message's id.
func (c *Channel) deliver(ctx context.Context, m channels.Outbound, f form) (int, error) {
	if edit, err := strconv.Atoi(m.Edit); err == nil && edit > 0 && f.file == nil {
		id, err := c.edit(ctx, f.chat, edit, f.page)
		if !cannotEdit(err) {
			return id, err
		}
		c.log.Info("cannot edit the message, sending a new one", "key", m.Key, "msg_id", m.ID)
	}
	asked := f.topic
	if lost, _ := c.lost.has(f.chat, asked); lost {
		f = c.outsideTopic(ctx, f, asked)
	}
	for {
		id, err := c.post(ctx, f)
		if err == nil {
			if f.topic != asked {
				c.lost.note(f.chat, asked, true)
			}
			return id, nil
		}
		next, able := f.without(err)
		if !able {
			return 0, err
		}
		c.log.Warn("Telegram refused a message; sending it in another form", "key", m.Key, "msg_id", m.ID, "err", refusalOf(err))
		becameText := f.file != nil && next.file == nil // and lost the word about the topic
		if next.topic != asked && (f.topic == asked || becameText) {
			next = c.outsideTopic(ctx, next, asked)
		}
		f = next
	}
}

// refusalOf is the code and the beginning of a refusal, which may quote the text.
func refusalOf(err error) string {
	r := (*apiError)(nil)
	if !errors.As(err, &r) {
		return ""
	}
	return markup.Clip(fmt.Sprintf("%d %s", r.code, r.description), 80)
}

// replyTarget is the message to reply to, or 0. Private chats get no replies, because
// it is clear there which message is answered. An id that is not Telegram's gives 0.
func replyTarget(chat int64, id string) int {
	if chat > 0 {
		return 0
	}
	reply, _ := strconv.Atoi(id)
	return reply
}

// receipt is the receipt for message id, which is 0 if Telegram's answer had none.
func receipt(id int) channels.Receipt {
	if id == 0 {
		return channels.Receipt{}
	}
	return channels.Receipt{MessageID: strconv.Itoa(id)}
}

// parseKey reads the chat part of k, "chat" or "chat:topic". If the group became a
// supergroup, it returns the new id.
func (c *Channel) parseKey(k channels.Key) (chat int64, topic int, err error) {
	id, thread, threaded := strings.Cut(k.Chat(), ":")
	chat, err = strconv.ParseInt(id, 10, 64)
	if err == nil && threaded {
		topic, err = strconv.Atoi(thread)
	}
	if err != nil || chat == 0 || k.Channel() != c.name {
		return 0, 0, fmt.Errorf("telegram: %s is not a conversation of channel %s: %w", k, c.name, channels.ErrPermanent)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if to := c.migrated[chat]; to != 0 {
		chat = to
	}
	return chat, topic, nil
}

// noLinkPreview keeps Telegram from fetching the links in an answer. Nobody asked for
// that, and a model may have put private text into an address.
var noLinkPreview = func() *models.LinkPreviewOptions {
	yes := true
	return &models.LinkPreviewOptions{IsDisabled: &yes}
}()

// post sends f as a new message.
func (c *Channel) post(ctx context.Context, f form) (int, error) {
	if f.file != nil {
		return c.postFile(ctx, f)
	}
	params := bot.SendMessageParams{ChatID: f.chat, MessageThreadID: f.topic, LinkPreviewOptions: noLinkPreview}
	if f.reply > 0 {
		params.ReplyParameters = &models.ReplyParameters{MessageID: f.reply, AllowSendingWithoutReply: true}
	}
	if len(f.page.keys) > 0 {
		params.ReplyMarkup = f.page.keys.markup()
	}
	return c.sendText(ctx, "sendMessage", f.chat, f.page, func(chat int64, text string, mode models.ParseMode) any {
		params.ChatID = chat
		params.Text = text
		params.ParseMode = mode
		return &params
	})
}

var _ channels.Filer = (*Channel)(nil)

// SendsFiles implements [channels.Filer].
func (c *Channel) SendsFiles() {}

// sorts are the methods that show a file as what it is, and the names of their parameters.
// Whatever has none is sent as a document.
var sorts = map[channels.AttachmentKind]struct{ method, field string }{
	channels.AttachmentImage: {"sendPhoto", "photo"},
	channels.AttachmentVoice: {"sendVoice", "voice"},
	channels.AttachmentAudio: {"sendAudio", "audio"},
}

func (c *Channel) postFile(ctx context.Context, f form) (int, error) {
	sort, known := sorts[f.file.Kind]
	if !known {
		sort.method, sort.field = "sendDocument", "document"
	}
	return c.sendText(ctx, sort.method, f.chat, f.page, func(chat int64, text string, mode models.ParseMode) any {
		u := &upload{field: sort.field, file: f.file, values: map[string]string{
			"chat_id": strconv.FormatInt(chat, 10), "caption": text, "parse_mode": string(mode),
		}}
		if f.file.Seconds > 0 {
			u.values["duration"] = strconv.Itoa(f.file.Seconds)
		}
		if f.topic != 0 {
			u.values["message_thread_id"] = strconv.Itoa(f.topic)
		}
		if f.reply > 0 {
			u.values["reply_parameters"] = fmt.Sprintf(`{"message_id":%d,"allow_sending_without_reply":true}`, f.reply)
		}
		return u
	})
}

// edit changes a message of ours. If it says that already, that is no error: an
// earlier attempt got through.
func (c *Channel) edit(ctx context.Context, chat int64, message int, p page) (int, error) {
	params := bot.EditMessageTextParams{MessageID: message, LinkPreviewOptions: noLinkPreview}
	if len(p.keys) > 0 {
		params.ReplyMarkup = p.keys.markup()
	}
	_, err := c.sendText(ctx, "editMessageText", chat, p, func(chat int64, text string, mode models.ParseMode) any {
		params.ChatID = chat
		params.Text = text
		params.ParseMode = mode
		return &params
	})
	if r := (*apiError)(nil); errors.As(err, &r) && r.contains("message is not modified") {
		err = nil
	}
	if err != nil {
		return 0, err
	}
	return message, nil
}

// sendText calls method with the text of p and returns the message's id. If the group
// became a supergroup, it calls again with the new id. If Telegram refuses the markup,
// it calls again with plain text.
func (c *Channel) sendText(ctx context.Context, method string, chat int64, p page, params func(int64, string, models.ParseMode) any) (int, error) {
	text, mode := p.html, models.ParseModeHTML
	if text == "" {
		text, mode = p.plain, ""
	}
	for attempt := 0; ; attempt++ {
		result, err := c.api.call(ctx, method, params(chat, text, mode), callTimeout)
		if refused(err) && c.Status().State == channels.StateConnected {
			c.report(channels.StateDown, tokenRefusedDetail) // until the next poll ends Run
		}
		r := (*apiError)(nil)
		switch {
		case err == nil:
			return messageID(result), nil
		case attempt >= 2 || !errors.As(err, &r):
			return 0, err
		case r.migrateTo != 0 && r.migrateTo != chat:
			c.noteMigration(chat, r.migrateTo)
			chat = r.migrateTo
		case mode != "" && isRefused(err, refusedMarkup):
			// The error is not logged, because it quotes the text.
			c.log.Warn("markup was refused, sending plain text", "method", method)
			text, mode = p.plain, ""
		default:
			return 0, err
		}
	}
}

func isRefused(err error, what follow) bool {
	got, refused := followOf(err)
	return refused && got == what
}

// noteMigration remembers that a group became a supergroup. Answers under the old key
// go to the new chat. Messages from there come under the new key, so they begin a new
// conversation.
func (c *Channel) noteMigration(from, to int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.migrated[from] = to
	c.log.Warn("a group became a supergroup; its new messages have a new key",
		"key", fmt.Sprintf("%s:%d", c.name, from), "new", fmt.Sprintf("%s:%d", c.name, to))
}

// messageID is the message id in a result, or 0. A result without one is a success
// too, because the message was sent.
func messageID(result json.RawMessage) int {
	var m models.MessageID
	_ = json.Unmarshal(result, &m)
	return m.ID
}

// cannotEdit reports whether Telegram refuses the edit itself: the message is gone, or
// too old, or the text does not fit. Then the text has to be sent as a new message,
// whose refusal says more.
func cannotEdit(err error) bool {
	what, refused := followOf(err)
	return refused && what != refusedChat && what != refusedForGood
}

package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// Send delivers m and returns when Telegram has answered with the message. It works
// without Run. Its errors:
//
//   - [channels.ErrPermanent]: Telegram will never accept m, for example because the
//     chat or the account is gone.
//   - [*channels.Retry]: Telegram said when to come back, or the chat has blocked or
//     removed the bot. Nothing was sent.
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
	if wait := c.blocked.retryIn(chat); wait > 0 {
		return channels.Receipt{}, retryBlocked(wait, errBlocked)
	}
	page := render(m.Text)
	if m.Finishes && chat > 0 {
		page.button = againButton
	}
	id, err := c.deliver(ctx, m, chat, topic, page)
	if err == nil && id != 0 && page.button != "" && m.File == nil {
		c.againButtons.add(chat, id)
	}
	return receipt(id), c.chatError(chat, err)
}

// deliver sends m as a file, an edit or a new message, and returns the message's id.
func (c *Channel) deliver(ctx context.Context, m channels.Outbound, chat int64, topic int, page page) (int, error) {
	if m.File != nil {
		return c.postFile(ctx, chat, topic, replyTarget(chat, m.ReplyTo), page, m.File)
	}
	if edit, err := strconv.Atoi(m.Edit); err == nil && edit > 0 {
		id, err := c.edit(ctx, chat, edit, page)
		if !cannotEdit(err) {
			return id, err
		}
		c.log.Info("cannot edit the message, sending a new one", "key", m.Key, "msg_id", m.ID)
	}
	return c.post(ctx, chat, topic, replyTarget(chat, m.ReplyTo), page)
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

func (c *Channel) post(ctx context.Context, chat int64, topic, reply int, p page) (int, error) {
	params := bot.SendMessageParams{ChatID: chat, MessageThreadID: topic, LinkPreviewOptions: noLinkPreview}
	if reply > 0 {
		params.ReplyParameters = &models.ReplyParameters{MessageID: reply, AllowSendingWithoutReply: true}
	}
	if p.button != "" {
		params.ReplyMarkup = p.button.markup()
	}
	return c.sendText(ctx, "sendMessage", chat, p, func(chat int64, text string, mode models.ParseMode) any {
		params.ChatID = chat
		params.Text = text
		params.ParseMode = mode
		return &params
	})
}

var _ channels.Filer = (*Channel)(nil)

// SendsFiles implements [channels.Filer].
func (c *Channel) SendsFiles() {}

func (c *Channel) postFile(ctx context.Context, chat int64, topic, reply int, p page, f *channels.File) (int, error) {
	return c.sendText(ctx, "sendDocument", chat, p, func(chat int64, text string, mode models.ParseMode) any {
		u := &upload{field: "document", file: f, values: map[string]string{
			"chat_id": strconv.FormatInt(chat, 10), "caption": text, "parse_mode": string(mode),
		}}
		if topic != 0 {
			u.values["message_thread_id"] = strconv.Itoa(topic)
		}
		if reply > 0 {
			u.values["reply_parameters"] = fmt.Sprintf(`{"message_id":%d,"allow_sending_without_reply":true}`, reply)
		}
		return u
	})
}

// edit changes a message of ours. If it says that already, that is no error: an
// earlier attempt got through.
func (c *Channel) edit(ctx context.Context, chat int64, message int, p page) (int, error) {
	params := bot.EditMessageTextParams{MessageID: message, LinkPreviewOptions: noLinkPreview}
	if p.button != "" {
		params.ReplyMarkup = p.button.markup()
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
		case r.code == http.StatusBadRequest && r.contains("can't parse entities") && mode != "":
			// The error is not logged, because it quotes the text.
			c.log.Warn("markup was refused, sending plain text", "method", method)
			text, mode = p.plain, ""
		default:
			return 0, err
		}
	}
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

// cannotEdit reports whether the message is gone or too old to be edited. Then the
// text has to be sent as a new message.
func cannotEdit(err error) bool {
	r := (*apiError)(nil)
	return errors.As(err, &r) && r.code == http.StatusBadRequest &&
		r.contains("message to edit not found", "message can't be edited", "MESSAGE_ID_INVALID")
}

// classify converts the error of a call to the classes that Send documents.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if b := (*callError)(nil); errors.As(err, &b) {
		if !b.reached {
			return &channels.NotSent{Err: err}
		}
		return err
	}
	r := (*apiError)(nil)
	switch {
	case !errors.As(err, &r):
		return err
	case r.code == http.StatusTooManyRequests || r.after > 0:
		return &channels.Retry{After: max(r.after, time.Second), Err: &channels.NotSent{Err: err}}
	case refused(err):
		return &channels.NotSent{Err: err}
	case r.code >= 400 && r.code < 500 && r.code != http.StatusConflict && r.code != http.StatusRequestTimeout:
		return fmt.Errorf("%w: %w", err, channels.ErrPermanent)
	default:
		return err // A failing server may have sent it.
	}
}

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

// Send delivers m and returns when Telegram has answered with the message.
// It does not need Run. Its errors:
//
//   - [channels.ErrPermanent]: Telegram will never take it (the
//     chat or its person is gone).
//   - [*channels.Retry]: Telegram said when to come back, or the chat does not
//     hear the bot now: it was blocked or removed. Nothing was sent.
//   - [*channels.NotSent]: there was no connection, or Telegram refuses the
//     token, which Status says. Nothing was sent.
//   - anything else: the request may have arrived; Telegram has no way to ask.
//
// An edit that finds the text as it should be has succeeded; one that finds
// no message to edit sends a new one.
func (c *Channel) Send(ctx context.Context, m channels.Outbound) (channels.Receipt, error) {
	chat, topic, err := c.place(m.Key)
	if err != nil {
		return channels.Receipt{}, err
	}
	if wait := c.shut.left(chat); wait > 0 {
		return channels.Receipt{}, held(wait, errShut)
	}
	page := render(m.Text)
	if m.Finishes && chat > 0 {
		page.under = againButton
	}
	id, err := c.deliver(ctx, m, chat, topic, page)
	if err == nil && id != 0 && page.under != "" && m.File == nil {
		c.offers.add(chat, id)
	}
	return receipt(id), c.learn(chat, err)
}

// deliver sends m, as a file, an edit or a message, and returns its id.
func (c *Channel) deliver(ctx context.Context, m channels.Outbound, chat int64, topic int, page page) (int, error) {
	if m.File != nil {
		return c.document(ctx, chat, topic, replyIn(chat, m.ReplyTo), page, m.File)
	}
	if edit, err := strconv.Atoi(m.Edit); err == nil && edit > 0 {
		id, err := c.edit(ctx, chat, edit, page)
		if !gone(err) {
			return id, err
		}
		c.log.Info("the message to edit is gone, sending a new one", "key", m.Key, "msg_id", m.ID)
	}
	return c.post(ctx, chat, topic, replyIn(chat, m.ReplyTo), page)
}

// replyIn is the message to reply to in a group: between two people it is plain
// what is answered. It is 0 for an id that is not Telegram's.
func replyIn(chat int64, id string) int {
	if chat > 0 {
		return 0
	}
	reply, _ := strconv.Atoi(id)
	return reply
}

func receipt(id int) channels.Receipt {
	if id == 0 {
		return channels.Receipt{}
	}
	return channels.Receipt{MessageID: strconv.Itoa(id)}
}

// place reads a key of this channel: "chat" or "chat:topic".
func (c *Channel) place(k channels.Key) (chat int64, topic int, err error) {
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
	if to := c.moved[chat]; to != 0 {
		chat = to
	}
	return chat, topic, nil
}

// quiet keeps Telegram from fetching the links in an answer: nobody asked for
// it, and an address made by a model can carry what it was told.
var quiet = func() *models.LinkPreviewOptions {
	yes := true
	return &models.LinkPreviewOptions{IsDisabled: &yes}
}()

// post sends a new message and returns its id.
func (c *Channel) post(ctx context.Context, chat int64, topic, reply int, p page) (int, error) {
	params := bot.SendMessageParams{ChatID: chat, MessageThreadID: topic, LinkPreviewOptions: quiet}
	if reply > 0 {
		params.ReplyParameters = &models.ReplyParameters{MessageID: reply, AllowSendingWithoutReply: true}
	}
	if p.under != "" {
		params.ReplyMarkup = p.under.markup()
	}
	return c.write(ctx, "sendMessage", chat, p, func(chat int64, text string, mode models.ParseMode) any {
		params.ChatID, params.Text, params.ParseMode = chat, text, mode
		return &params
	})
}

var _ channels.Filer = (*Channel)(nil)

// SendsFiles implements [channels.Filer].
func (c *Channel) SendsFiles() {}

// document sends a file with p beside it and returns its message's id.
func (c *Channel) document(ctx context.Context, chat int64, topic, reply int, p page, f *channels.File) (int, error) {
	return c.write(ctx, "sendDocument", chat, p, func(chat int64, text string, mode models.ParseMode) any {
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

// edit changes a message of ours and returns its id.
func (c *Channel) edit(ctx context.Context, chat int64, message int, p page) (int, error) {
	params := bot.EditMessageTextParams{MessageID: message, LinkPreviewOptions: quiet}
	if p.under != "" {
		params.ReplyMarkup = p.under.markup()
	}
	_, err := c.write(ctx, "editMessageText", chat, p, func(chat int64, text string, mode models.ParseMode) any {
		params.ChatID, params.Text, params.ParseMode = chat, text, mode
		return &params
	})
	if r := (*refusal)(nil); errors.As(err, &r) && r.says("message is not modified") {
		err = nil
	}
	if err != nil {
		return 0, err
	}
	return message, nil
}

// write makes one call with the rendered text, follows a group to its new
// number, and falls back to plain text where the markup is refused.
func (c *Channel) write(ctx context.Context, method string, chat int64, p page, params func(int64, string, models.ParseMode) any) (int, error) {
	text, mode := p.html, models.ParseModeHTML
	for attempt := 0; ; attempt++ {
		result, err := c.api.call(ctx, method, params(chat, text, mode), callLimit)
		if refused(err) && c.Status().State == channels.StateConnected {
			c.report(channels.StateDown, tokenRefused) // until the next poll ends Run
		}
		r := (*refusal)(nil)
		switch {
		case err == nil:
			return messageID(result), nil
		case attempt >= 2 || !errors.As(err, &r):
			return 0, err
		case r.migrateTo != 0 && r.migrateTo != chat:
			c.follow(chat, r.migrateTo)
			chat = r.migrateTo
		case r.code == http.StatusBadRequest && r.says("can't parse entities") && mode != "":
			// Not with the cause: it quotes the text.
			c.log.Warn("markup was refused, sending plain text", "method", method)
			text, mode = p.plain, ""
		default:
			return 0, err
		}
	}
}

// follow remembers that a group became a supergroup. Answers under the old
// key go to the new chat; what people say there comes under its new key, and
// so begins a new conversation.
func (c *Channel) follow(from, to int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved[from] = to
	c.log.Warn("a group became a supergroup; its conversation goes on under the new key",
		"key", fmt.Sprintf("%s:%d", c.name, from), "new", fmt.Sprintf("%s:%d", c.name, to))
}

// messageID reads the id out of a result. The message was sent, so an answer
// without a readable id is still a success.
func messageID(result json.RawMessage) int {
	var m models.MessageID
	if json.Unmarshal(result, &m) != nil {
		return 0
	}
	return m.ID
}

// gone reports whether an edit failed because there is nothing to edit.
func gone(err error) bool {
	r := (*refusal)(nil)
	return errors.As(err, &r) && r.code == http.StatusBadRequest &&
		r.says("message to edit not found", "message can't be edited", "MESSAGE_ID_INVALID")
}

// outcome puts an error of a call into the caller's words; see Send.
func outcome(err error) error {
	if err == nil {
		return nil
	}
	if b := (*broken)(nil); errors.As(err, &b) {
		if !b.reached {
			return &channels.NotSent{Err: err}
		}
		return err
	}
	r := (*refusal)(nil)
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
		return err // a server in trouble may have done it all the same
	}
}

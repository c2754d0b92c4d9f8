package telegram

import (
	"context"
	"errors"
	"hash/fnv"
	"net/http"
	"time"

	"github.com/go-telegram/bot/models"
)

// draftFor is how long an answer is shown as a draft. One that takes longer gets
// a message, because a draft has no button to stop it.
const draftFor = 5 * time.Second

// drafts reports whether the answer of turn is shown as a draft now.
func (p *previewer) drafts(turn string, chat int64, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.of(chat)
	if c.turn != turn {
		c.turn, c.since = turn, now
	}
	return !p.draftless && now.Sub(c.since) < draftFor
}

// Fades implements [channels.Fader]: Telegram shows a draft for half a minute.
func (c *Channel) Fades() bool {
	c.preview.mu.Lock()
	defer c.preview.mu.Unlock()
	return !c.preview.draftless && !c.o.NoPreview
}

// sendMessageDraft are the parameters of a draft. The library's have a text
// where the Bot API wants a number.
type sendMessageDraft struct {
	Chat  int64            `json:"chat_id"`
	Topic int              `json:"message_thread_id,omitempty"`
	Draft uint32           `json:"draft_id"` // the same for all drafts of an answer; not 0
	Text  string           `json:"text"`
	Mode  models.ParseMode `json:"parse_mode"`
}

// sketch shows p as a draft, which Telegram takes away by itself when a message
// comes, or half a minute later. It reports false if that cannot be done, or not
// any more, so that a message has to show it.
func (c *Channel) sketch(ctx context.Context, turn string, chat int64, topic int, p page) (bool, error) {
	if !c.preview.drafts(turn, chat, time.Now()) {
		return false, nil
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(turn)) // never fails
	params := sendMessageDraft{Chat: chat, Topic: topic, Draft: h.Sum32()>>1 | 1, Text: p.html, Mode: models.ParseModeHTML}
	_, err := c.api.call(ctx, "sendMessageDraft", params, showLimit)
	c.preview.learn(err)
	r := (*refusal)(nil)
	if errors.As(err, &r) && (r.code == http.StatusNotFound || r.code == http.StatusBadRequest) && !shuts(err) {
		c.log.Info("drafts are refused, so answers are shown in messages", "err", err)
		c.preview.mu.Lock()
		defer c.preview.mu.Unlock()
		c.preview.draftless = true
		return false, nil
	}
	return err == nil, err
}

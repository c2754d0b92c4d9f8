package telegram

import (
	"context"
	"errors"
	"hash/fnv"
	"net/http"
	"time"

	"github.com/go-telegram/bot/models"
)

// draftTime is how long an answer is shown as a draft. After that it is shown in a
// message, because a draft has no Stop button.
const draftTime = 5 * time.Second

// useDraft reports whether to show the answer of turn as a draft now.
func (p *previewer) useDraft(turn string, chat int64, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.chat(chat)
	if c.turn != turn {
		c.turn, c.since = turn, now
	}
	return !p.noDrafts && now.Sub(c.since) < draftTime
}

// Fades implements [channels.Fader]: Telegram shows a draft for half a minute.
func (c *Channel) Fades() bool {
	c.preview.mu.Lock()
	defer c.preview.mu.Unlock()
	return !c.preview.noDrafts && !c.o.NoPreview
}

// sendMessageDraft holds the parameters of a draft. The library's type has a string
// where the Bot API wants a number.
type sendMessageDraft struct {
	Chat  int64            `json:"chat_id"`
	Topic int              `json:"message_thread_id,omitempty"`
	Draft uint32           `json:"draft_id"` // the same for every draft of one answer; not 0
	Text  string           `json:"text"`
	Mode  models.ParseMode `json:"parse_mode"`
}

// showDraft shows p as a draft, which Telegram removes when a message comes, or after
// half a minute. It returns false if the answer must be shown in a message instead.
func (c *Channel) showDraft(ctx context.Context, turn string, chat int64, topic int, p page) (bool, error) {
	if !c.preview.useDraft(turn, chat, time.Now()) {
		return false, nil
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(turn)) // never fails
	params := sendMessageDraft{Chat: chat, Topic: topic, Draft: h.Sum32()>>1 | 1, Text: p.html, Mode: models.ParseModeHTML}
	_, err := c.api.call(ctx, "sendMessageDraft", params, showTimeout)
	c.preview.note(err)
	r := (*apiError)(nil)
	if errors.As(err, &r) && (r.code == http.StatusNotFound || r.code == http.StatusBadRequest) && !isBlocked(err) {
		c.log.Info("Telegram refuses drafts, so unfinished answers are shown in messages", "err", err)
		c.preview.mu.Lock()
		defer c.preview.mu.Unlock()
		c.preview.noDrafts = true
		return false, nil
	}
	return err == nil, err
}

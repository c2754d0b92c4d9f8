package telegram

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/channels/markup"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"golang.org/x/time/rate"
)

const (
	// Telegram allows a bot about 30 calls a second in all chats together. Answers
	// come first: typing and previews get less than half of that, and are skipped
	// rather than delayed.
	typingPerSecond   = 5
	previewsPerSecond = 8
	showTimeout       = 10 * time.Second
	// groupFactor makes previews rarer in groups, where Telegram allows 20 messages a
	// minute.
	groupFactor = 3
)

// rateBudget limits calls for all chats together. A 429 closes it for a while.
type rateBudget struct {
	budget *rate.Limiter
	mu     sync.Mutex
	closed time.Time // no calls before this time
}

func newRateBudget(perSecond float64) *rateBudget {
	return &rateBudget{budget: rate.NewLimiter(rate.Limit(perSecond), int(3*perSecond))}
}

// take returns 0 and counts a call if one is allowed now. Otherwise it returns how
// long to wait.
func (a *rateBudget) take(now time.Time) time.Duration {
	a.mu.Lock()
	closed := a.closed.Sub(now)
	a.mu.Unlock()
	if closed > 0 {
		return closed
	}
	if !a.budget.AllowN(now, 1) {
		return time.Duration(float64(time.Second) / float64(a.budget.Limit()))
	}
	return 0
}

// note closes the budget if err is a 429.
func (a *rateBudget) note(err error) {
	if r := (*apiError)(nil); errors.As(err, &r) && r.code == http.StatusTooManyRequests {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.closed = time.Now().Add(max(r.after, time.Second))
	}
}

// Typing shows that an answer is being prepared. If its budget is used up, or Telegram
// has asked for a pause, it does nothing and returns nil.
func (c *Channel) Typing(ctx context.Context, k channels.Key) error {
	chat, topic, err := c.parseKey(k)
	if err != nil {
		return err
	}
	if c.typing.take(time.Now()) > 0 || c.blocked.retryIn(chat, topic) > 0 {
		return nil
	}
	c.removeAgainButtons(ctx, chat)
	since := c.blocked.now()
	params := bot.SendChatActionParams{ChatID: chat, MessageThreadID: topic, Action: models.ChatActionTyping}
	_, err = c.api.call(ctx, "sendChatAction", params, showTimeout)
	c.typing.note(err)
	return c.chatError(chat, topic, since, err)
}

// previewer limits previews by chat. Telegram's limits do not depend on topics.
type previewer struct {
	*rateBudget
	every    time.Duration
	mu       sync.Mutex
	noDrafts time.Time // until then there are none, because Telegram has refused one
	chats    map[int64]*previewedChat
}

// previewedChat is a chat in which an unfinished answer is shown.
type previewedChat struct {
	next  time.Time // when the next preview is allowed
	turn  string    // the turn whose answer is shown
	since time.Time // when it was shown first
}

const maxPreviewChats = 1000

func newPreviewer(every time.Duration) *previewer {
	return &previewer{rateBudget: newRateBudget(previewsPerSecond), every: every, chats: map[int64]*previewedChat{}}
}

// reserve returns 0 and counts a preview if chat may be shown one now. Otherwise it
// returns how long to wait.
func (p *previewer) reserve(chat int64, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.chat(chat)
	if wait := c.next.Sub(now); wait > 0 {
		return wait
	}
	if wait := p.take(now); wait > 0 {
		return wait
	}
	every := p.every
	if chat < 0 { // a group
		every *= groupFactor
	}
	c.next = now.Add(every)
	return 0
}

// chat returns the state of chat. The caller holds p.mu.
func (p *previewer) chat(chat int64) *previewedChat {
	if p.chats[chat] == nil {
		if len(p.chats) >= maxPreviewChats {
			clear(p.chats)
		}
		p.chats[chat] = &previewedChat{}
	}
	return p.chats[chat]
}

// PreviewEvery is the shortest time between two previews in one chat. In groups
// Preview returns a Retry until three times as long has passed.
func (c *Channel) PreviewEvery() time.Duration { return c.preview.every }

// unfinishedMark ends every preview, so that nobody takes one that a crash left in the
// chat for an answer.
const unfinishedMark = "…"

// Preview shows an answer while it is written. In private chats it is a draft at first,
// if Telegram allows drafts. Otherwise it is a message with a Stop button, which
// further previews edit. If the answer needs several messages, Preview shows the
// beginning and the length so far. If a preview is not allowed yet, it returns a
// [*channels.Retry].
func (c *Channel) Preview(ctx context.Context, p channels.Preview) (string, error) {
	if c.o.NoPreview {
		return "", nil
	}
	chat, topic, err := c.parseKey(p.Key)
	if err != nil {
		return p.MessageID, err
	}
	if wait := max(c.blocked.retryIn(chat, topic), c.preview.reserve(chat, time.Now())); wait > 0 {
		return p.MessageID, &channels.Retry{After: wait}
	}
	since := c.blocked.now()
	shown := c.previewPage(p)
	if p.MessageID == "" && chat > 0 {
		if drafted, err := c.showDraft(ctx, p.Turn, chat, topic, shown); drafted || err != nil {
			return "", c.chatError(chat, topic, since, err)
		}
	}
	shown.keys = keysOf(stopButton)
	id := 0
	if earlier, _ := strconv.Atoi(p.MessageID); earlier > 0 {
		id, err = c.edit(ctx, chat, earlier, shown)
	} else {
		id, err = c.post(ctx, form{chat: chat, topic: topic, reply: replyTarget(chat, p.ReplyTo), page: shown})
	}
	c.preview.note(err)
	if err != nil {
		return p.MessageID, c.chatError(chat, topic, since, err)
	}
	return receipt(id).MessageID, nil
}

// previewPage is an unfinished answer as one message. If it is too long for one,
// its beginning stands for it, with the length so far.
func (c *Channel) previewPage(p channels.Preview) page {
	switch {
	case strings.TrimSpace(p.Text) != "":
		if parts := splitTo(p.Text+" "+unfinishedMark, maxUnits); len(parts) == 1 {
			return render(parts[0])
		}
		length := fmt.Sprintf("*%d characters so far* %s", utf8.RuneCountInString(p.Text), unfinishedMark)
		return render(splitTo(p.Text, maxUnits-units(length)-2)[0] + "\n\n" + length)
	case p.Note != "":
		return render("*" + markup.Escape(oneLine(strings.TrimRight(p.Note, "… "))) + "* " + unfinishedMark)
	}
	return page{plain: unfinishedMark, html: unfinishedMark}
}

// Retract deletes a preview. It does not count against the budget of previews, because
// it is rare and is not retried.
func (c *Channel) Retract(ctx context.Context, k channels.Key, messageID string) error {
	chat, _, err := c.parseKey(k)
	if err != nil {
		return err
	}
	message, err := strconv.Atoi(messageID)
	if err != nil || message <= 0 {
		return nil // not one of our previews
	}
	_, err = c.api.call(ctx, "deleteMessage", bot.DeleteMessageParams{ChatID: chat, MessageID: message}, showTimeout)
	if r := (*apiError)(nil); errors.As(err, &r) && r.contains("message to delete not found") {
		return nil
	}
	return classify(err)
}

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
	return now.After(p.noDrafts) && now.Sub(c.since) < draftTime
}

// Fades implements [channels.Fader]: Telegram shows a draft for half a minute.
func (c *Channel) Fades() bool {
	c.preview.mu.Lock()
	defer c.preview.mu.Unlock()
	return time.Now().After(c.preview.noDrafts) && !c.o.NoPreview
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
	if refusesDrafts(err) {
		c.log.Info("Telegram refuses drafts, so unfinished answers are shown in messages", "err", err)
		c.preview.mu.Lock()
		defer c.preview.mu.Unlock()
		c.preview.noDrafts = time.Now().Add(noDraftsFor)
		return false, nil
	}
	return err == nil, err
}

// noDraftsFor is how long a refusal of drafts is believed. A server may be updated.
const noDraftsFor = 24 * time.Hour

// refusesDrafts reports whether err says that there are no drafts here, whatever they
// say and wherever they are shown.
func refusesDrafts(err error) bool {
	r := (*apiError)(nil)
	return errors.As(err, &r) && r.code == http.StatusNotFound || isRefused(err, refusedUnknown)
}

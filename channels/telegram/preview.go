package telegram

import (
	"context"
	"errors"
	"fmt"
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
	// Telegram lets a bot do about 30 things a second over all chats. Answers
	// come first, so what is only shown meanwhile gets less than half of that,
	// and never waits: it is left out.
	typingPerSecond   = 5
	previewsPerSecond = 8
	showLimit         = 10 * time.Second
	// groupFactor slows previews down in groups, where Telegram allows 20
	// messages a minute.
	groupFactor = 3
)

// allowance is a budget over all chats, which a 429 closes for a while.
type allowance struct {
	budget *rate.Limiter
	mu     sync.Mutex
	closed time.Time // until then
}

func newAllowance(perSecond float64) *allowance {
	return &allowance{budget: rate.NewLimiter(rate.Limit(perSecond), int(3*perSecond))}
}

// wait is 0 if one more call is allowed now, else how long it is not.
func (a *allowance) wait(now time.Time) time.Duration {
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

// learn closes the allowance if err is a 429.
func (a *allowance) learn(err error) {
	if r := (*refusal)(nil); errors.As(err, &r) && r.code == http.StatusTooManyRequests {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.closed = time.Now().Add(max(r.after, time.Second))
	}
}

// Typing shows that an answer is being prepared. Beyond its budget, and while
// Telegram asks for a pause, it shows nothing and is content.
func (c *Channel) Typing(ctx context.Context, k channels.Key) error {
	chat, topic, err := c.place(k)
	if err != nil {
		return err
	}
	if c.typing.wait(time.Now()) > 0 || c.shut.left(chat) > 0 {
		return nil
	}
	c.withdraw(ctx, chat)
	params := bot.SendChatActionParams{ChatID: chat, MessageThreadID: topic, Action: models.ChatActionTyping}
	_, err = c.api.call(ctx, "sendChatAction", params, showLimit)
	c.typing.learn(err)
	return c.learn(chat, err)
}

// previewer paces previews, for each chat: Telegram's limits know no topics.
type previewer struct {
	*allowance
	every     time.Duration
	mu        sync.Mutex
	draftless bool // Telegram, or this server, has no drafts for the bot
	chats     map[int64]*watcher
}

// watcher is a chat that is shown how far an answer is.
type watcher struct {
	next  time.Time // when it may be shown more
	turn  string    // whose answer it is
	since time.Time // when that was shown first
}

// mostWatchers bounds the chats that are remembered.
const mostWatchers = 1000

func newPreviewer(every time.Duration) *previewer {
	return &previewer{allowance: newAllowance(previewsPerSecond), every: every, chats: map[int64]*watcher{}}
}

// begin is 0 if chat may be shown a preview now, and counts it.
func (p *previewer) begin(chat int64, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.of(chat)
	if wait := c.next.Sub(now); wait > 0 {
		return wait
	}
	if wait := p.wait(now); wait > 0 {
		return wait
	}
	every := p.every
	if chat < 0 { // a group
		every *= groupFactor
	}
	c.next = now.Add(every)
	return 0
}

// of is the watcher of chat. p.mu is held.
func (p *previewer) of(chat int64) *watcher {
	if p.chats[chat] == nil {
		if len(p.chats) >= mostWatchers {
			clear(p.chats)
		}
		p.chats[chat] = &watcher{}
	}
	return p.chats[chat]
}

// PreviewEvery is the least time between two previews in one chat; in groups
// Preview itself asks for more.
func (c *Channel) PreviewEvery() time.Duration { return c.preview.every }

// unfinished ends every preview, so that one that a crash leaves behind is not
// taken for an answer.
const unfinished = "…"

// Preview shows an answer while it is written: between two people as a draft at
// first, if Telegram takes that, else in a message with a Stop button, which is
// edited from then on. Of an answer that needs several messages it shows the
// first, and how long the answer is. While it may not, it returns a
// [*channels.Retry].
func (c *Channel) Preview(ctx context.Context, p channels.Preview) (string, error) {
	if c.o.NoPreview {
		return "", nil
	}
	chat, topic, err := c.place(p.Key)
	if err != nil {
		return p.MessageID, err
	}
	if wait := max(c.shut.left(chat), c.preview.begin(chat, time.Now())); wait > 0 {
		return p.MessageID, &channels.Retry{After: wait}
	}
	shown := c.soFar(p)
	if p.MessageID == "" && chat > 0 {
		if drafted, err := c.sketch(ctx, p.Turn, chat, topic, shown); drafted || err != nil {
			return "", c.learn(chat, err)
		}
	}
	shown.under = stopButton
	id := 0
	if earlier, _ := strconv.Atoi(p.MessageID); earlier > 0 {
		id, err = c.edit(ctx, chat, earlier, shown)
	} else {
		id, err = c.post(ctx, chat, topic, replyIn(chat, p.ReplyTo), shown)
	}
	c.preview.learn(err)
	if err != nil {
		return p.MessageID, c.learn(chat, err)
	}
	return receipt(id).MessageID, nil
}

// soFar is what one message can show of p.
func (c *Channel) soFar(p channels.Preview) page {
	switch {
	case strings.TrimSpace(p.Text) != "":
		if parts := c.Split(p.Key, p.Text+" "+unfinished); len(parts) == 1 {
			return render(parts[0])
		}
		length := fmt.Sprintf("*%d characters so far* %s", utf8.RuneCountInString(p.Text), unfinished)
		return render(cut(p.Text, mostUnits-units(length)-2)[0] + "\n\n" + length)
	case p.Note != "":
		return render("*" + markup.Escape(oneLine(strings.TrimRight(p.Note, "… "))) + "* " + unfinished)
	}
	return page{plain: unfinished, html: unfinished}
}

// Retract deletes a preview. It takes nothing from what previews may do: it is
// rare, and nothing shows the message again.
func (c *Channel) Retract(ctx context.Context, k channels.Key, messageID string) error {
	chat, _, err := c.place(k)
	if err != nil {
		return err
	}
	message, err := strconv.Atoi(messageID)
	if err != nil || message <= 0 {
		return nil // none of ours
	}
	_, err = c.api.call(ctx, "deleteMessage", bot.DeleteMessageParams{ChatID: chat, MessageID: message}, showLimit)
	if r := (*refusal)(nil); errors.As(err, &r) && r.says("message to delete not found") {
		return nil
	}
	return outcome(err)
}

package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/channels/markup"

	"github.com/go-telegram/bot/models"
)

const (
	callTimeout = 30 * time.Second // every call but a poll
	pollSlack   = 15 * time.Second // added to the timeout of a poll
	// conflictPause is the wait after a conflict with another poller. During
	// conflictGrace after the start the other poller is probably the last poll of our
	// previous run, which Telegram has not ended yet, so we retry sooner.
	conflictPause = 30 * time.Second
	conflictGrace = 3 * time.Second
	batchSize     = 100
	// minPoll is the shortest time between polls if a server answers an empty poll at once.
	minPoll = time.Second
	// maxPause bounds the pause that Telegram may ask for between polls.
	maxPause = time.Hour
	// maxParallelChats is how many chats may hand messages to the intake at once. It is
	// large enough for a store that commits many in one group.
	maxParallelChats = 32
)

var wanted = []string{
	models.AllowedUpdateMessage, models.AllowedUpdateEditedMessage,
	models.AllowedUpdateChannelPost, models.AllowedUpdateEditedChannelPost,
	models.AllowedUpdateCallbackQuery, models.AllowedUpdateMyChatMember,
}

// updatesParams are the parameters of getUpdates.
type updatesParams struct {
	// Offset confirms all updates below it. It is sent only once: after a quiet week
	// Telegram may number updates from a lower value, and an old offset would confirm
	// those before we have seen them.
	Offset  int64    `json:"offset,omitempty"`
	Limit   int      `json:"limit"`
	Timeout int      `json:"timeout"`
	Allowed []string `json:"allowed_updates"`
}

// poll asks for updates and hands them to the intake, until ctx ends or the token is
// refused.
func (c *Channel) poll(ctx context.Context, in channels.Intake) error {
	var registering sync.WaitGroup
	defer registering.Wait()
	running, end := context.WithCancel(ctx)
	defer end()
	register := sync.OnceFunc(func() { registering.Go(func() { c.keepMenu(running) }) })
	ask := updatesParams{Limit: batchSize, Allowed: wanted}
	began := time.Now()
	checked := false // whose webhook is set
	var tries channels.Backoff
	for ctx.Err() == nil {
		// The first poll after a failure returns at once, so that Status is soon right.
		ask.Timeout = 0
		if c.Status().State == channels.StateConnected {
			ask.Timeout = int(c.o.PollTimeout.Seconds())
		}
		asked := time.Now()
		batch, err := c.fetchUpdates(ctx, ask, register)
		if err != nil {
			if refused(err) {
				return fmt.Errorf("%w: %w", err, channels.ErrPermanent)
			}
			if c.o.Shared && ctx.Err() == nil && conflicts(err) && time.Since(began) > conflictGrace {
				return fmt.Errorf("telegram: %s: %w", conflictDetail, channels.ErrElsewhere)
			}
			if !checked && hasWebhook(err) {
				checked = c.removeOwnWebhook(ctx)
			}
			if errors.Is(err, errUnreadable) {
				ask.Limit = 1 // One update spoils the answer: get the others one by one.
			}
			c.pauseAfter(ctx, err, tries.Next(), time.Since(began) <= conflictGrace)
			continue
		}
		if len(batch) == 0 && ask.Timeout > 0 && time.Since(asked) < minPoll {
			channels.Sleep(ctx, minPoll) // The server does not hold polls open.
		}
		c.report(channels.StateConnected, "")
		ask.Limit = batchSize
		next, ok := c.handInBatch(ctx, in, batch)
		if !ok {
			return ctx.Err()
		}
		ask.Offset = next
		if len(batch) > 0 && next == 0 {
			// No update has an id, so we cannot confirm them and they come again.
			c.pauseAfter(ctx, errors.New("telegram: updates without an update_id"), tries.Next(), false)
			continue
		}
		tries.Failed = 0
	}
	return ctx.Err()
}

// fetchUpdates makes one poll. It first gets the bot's user name, without which
// mentions cannot be recognized, and then calls named.
func (c *Channel) fetchUpdates(ctx context.Context, ask updatesParams, named func()) ([]json.RawMessage, error) {
	if err := c.loadUsername(ctx); err != nil {
		return nil, err
	}
	named()
	result, err := c.api.call(ctx, "getUpdates", ask, time.Duration(ask.Timeout)*time.Second+pollSlack)
	if err != nil {
		return nil, err
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(result, &batch); err != nil {
		return nil, &callError{"getUpdates", true, errUnreadable}
	}
	return batch, nil
}

// conflictDetail is the status detail while another program polls.
const conflictDetail = "another program polls with this token; stop it, or make a separate bot for this one"

// webhookDetail is the status detail of a poll while a webhook is set.
const webhookDetail = "a webhook is set, so another program gets this bot's messages; remove it there first"

// conflicts reports whether another program polls with our token. A webhook
// answers with the same code and has another cure.
func conflicts(err error) bool {
	r := (*apiError)(nil)
	return errors.As(err, &r) && r.code == http.StatusConflict && !hasWebhook(err)
}

// refused reports whether err says that the token is not valid. Errors about a chat or
// a message have the codes 400 and 403.
func refused(err error) bool {
	r := (*apiError)(nil)
	return errors.As(err, &r) && (r.code == http.StatusUnauthorized || r.code == http.StatusNotFound)
}

// pauseAfter reports err in Status and the log, and waits: as long as that kind of error
// needs, otherwise for wait. justStarted says that the grace for conflicts is not over.
func (c *Channel) pauseAfter(ctx context.Context, err error, wait time.Duration, justStarted bool) {
	detail := "Telegram cannot be reached; trying again"
	if r := (*apiError)(nil); errors.As(err, &r) {
		detail = fmt.Sprintf("Telegram answered %d; trying again", r.code)
		switch {
		case r.code == http.StatusBadRequest && r.method == "setWebhook":
			detail = "Telegram refuses the webhook: " + markup.Clip(markup.Line(r.description), 200)
		case hasWebhook(err) && justStarted:
			detail = webhookDetail
		case hasWebhook(err):
			wait, detail = conflictPause, webhookDetail
		case conflicts(err):
			detail = conflictDetail
			if !justStarted {
				wait = conflictPause
			}
		case r.after > 0:
			wait, detail = min(r.after, maxPause), "Telegram asks for a pause"
		}
	}
	if ctx.Err() != nil {
		return
	}
	c.report(channels.StateDown, detail)
	c.log.Warn("polling failed, will try again", "err", err, "wait", wait)
	channels.Sleep(ctx, wait)
}

// loadUsername asks Telegram for the bot's user name, unless an earlier Run has.
func (c *Channel) loadUsername(ctx context.Context) error {
	if c.username() != "" {
		return nil
	}
	return c.askUsername(ctx)
}

// askUsername asks Telegram for the bot's user name.
func (c *Channel) askUsername(ctx context.Context) error {
	result, err := c.api.call(ctx, "getMe", struct{}{}, callTimeout)
	if err != nil {
		return err
	}
	var me models.User
	if err := json.Unmarshal(result, &me); err != nil || me.Username == "" {
		return &callError{"getMe", true, errUnreadable}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.botName = me.Username
	c.seesAll = me.CanReadAllGroupMessages
	return nil
}

// readsAll reports whether Telegram shows the bot all messages of its groups, also those
// for other bots.
func (c *Channel) readsAll() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seesAll
}

func (c *Channel) username() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.botName
}

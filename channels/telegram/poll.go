package telegram

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"dragoman/channels"

	"github.com/go-telegram/bot/models"
)

const (
	callLimit = 30 * time.Second // every call but a poll
	pollSlack = 15 * time.Second // a poll may answer so much later than it was asked to
	// conflictPause is how long to leave another poller alone. Just after the
	// start the other one is most likely the last poll of our own former run,
	// which Telegram has not missed yet, so conflicts are then taken lightly.
	conflictPause = 30 * time.Second
	conflictGrace = 3 * time.Second
	batchSize     = 100
	// leastPoll is how long a poll with nothing in it takes at least.
	leastPoll = time.Second
	// mostRest bounds the pauses between polls that Telegram asks for.
	mostRest = time.Hour
	// lanes is how many chats are handed in side by side: enough for a store
	// that commits many in one go, few enough to stay small.
	lanes = 32
)

// wanted are the kinds of updates that are asked for.
var wanted = []string{
	models.AllowedUpdateMessage, models.AllowedUpdateEditedMessage,
	models.AllowedUpdateChannelPost, models.AllowedUpdateEditedChannelPost,
	models.AllowedUpdateCallbackQuery, models.AllowedUpdateMyChatMember,
}

// getUpdates is the poll's question.
type getUpdates struct {
	// Offset confirms everything below it. It is left out once that is done:
	// Telegram may restart its numbering lower after a quiet week, and a kept
	// offset would confirm those unseen.
	Offset  int64    `json:"offset,omitempty"`
	Limit   int      `json:"limit"`
	Timeout int      `json:"timeout"`
	Allowed []string `json:"allowed_updates"`
}

// poll asks for updates and hands them in until ctx ends or the token is refused.
func (c *Channel) poll(ctx context.Context, in channels.Intake) error {
	var registering sync.WaitGroup
	defer registering.Wait()
	register := sync.OnceFunc(func() { registering.Go(func() { c.register(ctx) }) })
	ask := getUpdates{Limit: batchSize, Allowed: wanted}
	began := time.Now()
	var tries channels.Backoff
	for ctx.Err() == nil {
		// A poll after a failure answers at once, so that Status is soon right.
		ask.Timeout = 0
		if c.Status().State == channels.StateConnected {
			ask.Timeout = int(c.o.PollTimeout.Seconds())
		}
		asked := time.Now()
		batch, err := c.fetch(ctx, ask, register)
		if err != nil {
			if refused(err) {
				return fmt.Errorf("%w: %w", err, channels.ErrPermanent)
			}
			if c.o.Shared && ctx.Err() == nil && conflicts(err) && time.Since(began) > conflictGrace {
				return fmt.Errorf("telegram: %s: %w", secondPoller, channels.ErrElsewhere)
			}
			if errors.Is(err, errUnreadable) {
				ask.Limit = 1 // to get past everything but the one that spoils the answer
			}
			c.rest(ctx, err, tries.Next(), time.Since(began) <= conflictGrace)
			continue
		}
		if len(batch) == 0 && ask.Timeout > 0 && time.Since(asked) < leastPoll {
			channels.Sleep(ctx, leastPoll) // a server that does not wait
		}
		c.report(channels.StateConnected, "")
		ask.Limit = batchSize
		next, ok := c.take(ctx, in, batch)
		if !ok {
			return ctx.Err()
		}
		ask.Offset = next
		if len(batch) > 0 && next == 0 {
			// All of the batch is without an id and will come again.
			c.rest(ctx, errors.New("telegram: updates without an update_id"), tries.Next(), false)
			continue
		}
		tries.Failed = 0
	}
	return ctx.Err()
}

// fetch makes one poll. Nothing is taken before the bot knows its name; introduced
// is called when it does.
func (c *Channel) fetch(ctx context.Context, ask getUpdates, introduced func()) ([]json.RawMessage, error) {
	if err := c.introduce(ctx); err != nil {
		return nil, err
	}
	introduced()
	result, err := c.api.call(ctx, "getUpdates", ask, time.Duration(ask.Timeout)*time.Second+pollSlack)
	if err != nil {
		return nil, err
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(result, &batch); err != nil {
		return nil, &broken{"getUpdates", true, errUnreadable}
	}
	return batch, nil
}

// secondPoller is the detail of a poller that another one gets in the way of.
const secondPoller = "another program polls with this token; stop it, or make a separate bot for this one"

// conflicts reports whether err says that there is one.
func conflicts(err error) bool {
	r := (*refusal)(nil)
	return errors.As(err, &r) && r.code == http.StatusConflict && !r.says("webhook")
}

// refused reports whether err says that the token is no good. What is wrong
// with a chat or a message is a 400 or 403.
func refused(err error) bool {
	r := (*refusal)(nil)
	return errors.As(err, &r) && (r.code == http.StatusUnauthorized || r.code == http.StatusNotFound)
}

// rest says what is wrong and waits: as long as that kind of error asks for, or
// for wait. began: polling has just begun.
func (c *Channel) rest(ctx context.Context, err error, wait time.Duration, began bool) {
	detail := "Telegram cannot be reached; trying again"
	if r := (*refusal)(nil); errors.As(err, &r) {
		detail = fmt.Sprintf("Telegram answered %d; trying again", r.code)
		switch {
		case r.code == http.StatusConflict && r.says("webhook"):
			wait, detail = conflictPause, "a webhook is set, so another program gets this bot's messages; remove it there first"
		case conflicts(err):
			detail = secondPoller
			if !began {
				wait = conflictPause
			}
		case r.after > 0:
			wait, detail = min(r.after, mostRest), "Telegram asks for a pause"
		}
	}
	if ctx.Err() != nil {
		return
	}
	c.report(channels.StateDown, detail)
	c.log.Warn("polling failed, will try again", "err", err, "wait", wait)
	channels.Sleep(ctx, wait)
}

// arrived is one update of a batch.
type arrived struct {
	id   int64
	raw  json.RawMessage
	what *models.Update // nil: it could not be decoded, why says why
	why  error
}

// take hands a batch in and returns the offset that confirms it (0 if nothing
// in it has an id), or false if ctx ended before all of it was taken.
func (c *Channel) take(ctx context.Context, in channels.Intake, batch []json.RawMessage) (int64, bool) {
	var order []int64 // chats, as they come up; 0 for what belongs to none
	byChat := map[int64][]arrived{}
	var next int64
	for _, raw := range batch {
		a := decode(raw)
		if a.id > 0 {
			next = max(next, a.id+1)
		}
		chat := a.chat()
		if _, known := byChat[chat]; !known {
			order = append(order, chat)
		}
		byChat[chat] = append(byChat[chat], a)
	}
	var wg sync.WaitGroup
	turnstile := make(chan struct{}, lanes)
	for _, chat := range order {
		turnstile <- struct{}{} // frees up as lanes end, which they do when ctx does
		wg.Go(func() {
			defer func() { <-turnstile }()
			c.addressAlbums(byChat[chat])
			for _, a := range byChat[chat] {
				if !c.persist(ctx, in, a) {
					return
				}
			}
		})
	}
	wg.Wait()
	return next, ctx.Err() == nil
}

// decode reads the id first, so that even what is otherwise unreadable can be
// confirmed.
func decode(raw json.RawMessage) arrived {
	a := arrived{raw: raw}
	var head struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(raw, &head); err != nil && head.ID == 0 {
		a.why = fmt.Errorf("telegram: decode update_id: %w", err)
		return a
	}
	a.id = head.ID
	u := new(models.Update)
	if err := json.Unmarshal(raw, u); err != nil {
		a.why = fmt.Errorf("telegram: decode update %d: %w", a.id, err)
		return a
	}
	a.what = u
	return a
}

// key is what the intake knows the update by.
func (a arrived) key() string {
	if a.id > 0 {
		return strconv.FormatInt(a.id, 10)
	}
	sum := sha256.Sum256(a.raw)
	return "unreadable-" + hex.EncodeToString(sum[:12])
}

func (a arrived) chat() int64 {
	m, _ := a.message()
	switch {
	case m != nil:
		return m.Chat.ID
	case a.what == nil:
	case a.what.MyChatMember != nil:
		return a.what.MyChatMember.Chat.ID
	case a.what.CallbackQuery != nil && a.what.CallbackQuery.Message.Message != nil:
		return a.what.CallbackQuery.Message.Message.Chat.ID
	}
	return 0
}

// message is the message in the update, if that is what it is about.
func (a arrived) message() (m *models.Message, edited bool) {
	switch u := a.what; {
	case u == nil:
		return nil, false
	case u.Message != nil:
		return u.Message, false
	case u.ChannelPost != nil:
		return u.ChannelPost, false
	case u.EditedMessage != nil:
		return u.EditedMessage, true
	default:
		return u.EditedChannelPost, u.EditedChannelPost != nil
	}
}

// persist hands a in until the intake has it; false if ctx ended first.
func (c *Channel) persist(ctx context.Context, in channels.Intake, a arrived) bool {
	var tries channels.Backoff
	for ctx.Err() == nil {
		err := c.handIn(ctx, in, a)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		wait := tries.Next()
		c.log.Warn("a message was not accepted, will try again", "msg_id", a.key(), "err", err, "attempt", tries.Failed, "wait", wait)
		channels.Sleep(ctx, wait)
	}
	return false
}

// handIn gives a to the intake in the form that suits it.
func (c *Channel) handIn(ctx context.Context, in channels.Intake, a arrived) error {
	if a.what == nil {
		c.log.Error("an update cannot be understood and is set aside", "msg_id", a.key(), "err", a.why)
		return in.Quarantine(ctx, c.name, a.key(), a.raw, a.why)
	}
	switch {
	case a.what.CallbackQuery != nil:
		return c.press(ctx, in, a.key(), a.what.CallbackQuery)
	case a.what.MyChatMember != nil:
		return c.standing(ctx, in, a.what.MyChatMember)
	}
	message, edited := a.message()
	if message == nil {
		c.log.Debug("ignored an update without a message", "msg_id", a.key())
		return nil
	}
	if message.Chat.ID > 0 && c.shut.left(message.Chat.ID) > 0 { // who writes hears us
		if err := c.opened(ctx, in, message.Chat.ID); err != nil {
			return err
		}
	}
	m, ok, err := c.understand(a.key(), message, edited)
	switch {
	case err != nil:
		return in.Quarantine(ctx, c.name, a.key(), a.raw, err)
	case !ok:
		c.log.Debug("ignored a message that says nothing to the bot", "msg_id", a.key())
		return nil
	}
	return in.Accept(ctx, m)
}

// understand is inbound with its panics as errors: a message that trips a bug
// of ours is set aside instead of ending the daemon at every start.
func (c *Channel) understand(id string, m *models.Message, edited bool) (in channels.Inbound, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("telegram: understand update %s: panic of type %T", id, p)
		}
	}()
	return c.inbound(id, m, edited)
}

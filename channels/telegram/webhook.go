package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/channels/markup"
)

const (
	// secretHeader is where Telegram shows the secret of a webhook.
	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
	// maxCall bounds one update, in bytes. Telegram's largest have some ten thousand.
	maxCall = 1 << 20
	// webhookEvery is how often Telegram is asked how the webhook does.
	webhookEvery = time.Minute
	// oldFailure is the age from which Telegram's newest failure is no news.
	oldFailure = 15 * time.Minute
)

// webhook is where Telegram sends updates, if the channel does not poll.
type webhook struct {
	url   string // "": it polls
	param func() string
	// authentic reports whether a request shows the secret.
	authentic func(http.Header) bool
}

// newWebhook keeps the secret in functions, so that printing a channel never shows it.
func newWebhook(name, base, secret string) webhook {
	if base == "" {
		return webhook{}
	}
	want := sha256.Sum256([]byte(secret))
	return webhook{
		url:   strings.TrimRight(base, "/") + channels.CallbackPath(name),
		param: func() string { return secret },
		authentic: func(h http.Header) bool {
			got := sha256.Sum256([]byte(h.Get(secretHeader)))
			return subtle.ConstantTimeCompare(got[:], want[:]) == 1
		},
	}
}

// Callback is how Telegram calls; nil if the channel polls.
func (c *Channel) Callback() *channels.Callback {
	if c.hook.url == "" {
		return nil
	}
	return &channels.Callback{Authentic: c.hook.authentic, MaxBody: maxCall, Take: c.take}
}

// take stores one update. Telegram sends the next one of a chat when this one was
// answered with 200, so that there is no order to keep here.
func (c *Channel) take(ctx context.Context, in channels.Intake, body []byte) error {
	if err := c.loadUsername(ctx); err != nil { // mentions need it, on every node
		return err
	}
	a := decode(json.RawMessage(body))
	c.addressAlbums([]update{a})
	return c.handIn(ctx, in, a)
}

// webhookInfo is what getWebhookInfo says.
type webhookInfo struct {
	URL       string `json:"url"`
	Pending   int    `json:"pending_update_count"`
	FailedAt  int64  `json:"last_error_date"`
	LastError string `json:"last_error_message"`
}

// webhookParams are the parameters of setWebhook. Without drop_pending_updates, Telegram
// sends what no poll has confirmed.
type webhookParams struct {
	URL     string   `json:"url"`
	Secret  string   `json:"secret_token"`
	Allowed []string `json:"allowed_updates"`
}

// keepWebhook sets the webhook, and sees to it that it remains set, until ctx ends or the
// token is refused. It leaves the webhook: Telegram keeps what it cannot deliver.
func (c *Channel) keepWebhook(ctx context.Context) error {
	var registering sync.WaitGroup
	defer registering.Wait()
	running, end := context.WithCancel(ctx)
	defer end()
	register := sync.OnceFunc(func() { registering.Go(func() { c.keepMenu(running) }) })
	var tries channels.Backoff
	set := false
	for ctx.Err() == nil {
		err := c.loadUsername(ctx)
		if err == nil {
			register()
			set, err = c.lookAtWebhook(ctx, set)
		}
		switch {
		case err == nil:
			tries.Failed = 0
			channels.Sleep(ctx, c.o.WebhookEvery)
		case refused(err):
			return fmt.Errorf("%w: %w", err, channels.ErrPermanent)
		default:
			c.pauseAfter(ctx, err, tries.Next(), true)
		}
	}
	return ctx.Err()
}

// lookAtWebhook reports how the webhook does, and sets it if this run has not, or if
// somebody else has set another one. It returns whether it is set now.
func (c *Channel) lookAtWebhook(ctx context.Context, set bool) (bool, error) {
	info, err := c.webhookInfo(ctx)
	if err != nil {
		return set, err
	}
	if !set || info.URL != c.hook.url {
		if set {
			c.log.Warn("another program has changed the webhook of this bot; setting it again")
		}
		params := webhookParams{c.hook.url, c.hook.param(), wanted}
		if _, err := c.api.call(ctx, "setWebhook", params, callTimeout); err != nil {
			return false, err
		}
		info = webhookInfo{}
	}
	c.reportWebhook(info)
	return true, nil
}

func (c *Channel) webhookInfo(ctx context.Context) (info webhookInfo, err error) {
	result, err := c.api.call(ctx, "getWebhookInfo", struct{}{}, callTimeout)
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(result, &info); err != nil {
		return info, &callError{"getWebhookInfo", true, errUnreadable}
	}
	return info, nil
}

// reportWebhook says that Telegram fails to call, if messages wait there because of it.
func (c *Channel) reportWebhook(info webhookInfo) {
	if info.Pending == 0 || info.LastError == "" || time.Since(time.Unix(info.FailedAt, 0)) > oldFailure {
		c.report(channels.StateConnected, "Telegram calls "+c.hook.url)
		return
	}
	waiting := "1 message waits there"
	if info.Pending > 1 {
		waiting = fmt.Sprintf("%d messages wait there", info.Pending)
	}
	c.report(channels.StateDown, fmt.Sprintf("Telegram cannot call %s: %s; %s",
		c.hook.url, markup.Clip(markup.Line(info.LastError), 200), waiting))
}

// hasWebhook reports whether a poll was refused because a webhook is set.
func hasWebhook(err error) bool {
	r := (*apiError)(nil)
	return errors.As(err, &r) && r.code == http.StatusConflict && r.contains("webhook")
}

// removeOwnWebhook removes the webhook that an earlier configuration of this channel has
// set. Telegram keeps what it has not delivered for the next poll. The webhook of another
// program stays. It reports whether there is nothing more to try.
func (c *Channel) removeOwnWebhook(ctx context.Context) bool {
	info, err := c.webhookInfo(ctx)
	if err != nil {
		return false
	}
	u, err := url.Parse(info.URL)
	if err != nil || !strings.HasSuffix(u.Path, channels.CallbackPath(c.name)) {
		return true
	}
	if _, err := c.api.call(ctx, "deleteWebhook", struct{}{}, callTimeout); err != nil {
		return false
	}
	c.log.Info("removed the webhook of an earlier configuration; polling from now on")
	return true
}

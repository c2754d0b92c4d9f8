// Package telegram connects Dragoman to Telegram through the Bot API.
//
// # Promise
//
// Inbound: an update is confirmed to Telegram only after the intake has stored it.
// The updates of one chat go to the intake in order, those of different chats
// concurrently. Each update is decoded alone; one that cannot be decoded is
// quarantined, and the others continue. Unconfirmed updates come again after a
// restart, with the same Inbound.ID (the update id). The adapter keeps nothing on
// disk, because Telegram keeps the unconfirmed updates.
//
// With Options.WebhookURL, Telegram calls instead of being polled, and an update is
// answered with 200 only after the intake has stored it. Any node of several may take
// the call; Run, on one of them, keeps the webhook set. Neither way ever drops what
// waits at Telegram, so the mode can change at any start: what comes twice has the same
// Inbound.ID.
//
// Outbound: [Channel.Send] returns nil only after Telegram has answered with the
// message. Markdown is sent as Telegram's HTML, or as plain text if Telegram
// refuses the markup.
//
// # Failures
//
// A refused token ends Run with [channels.ErrPermanent]. A second poller or another
// program's webhook (409) shows in Status, and polling is retried every 30 s (but see
// Options.Shared). A webhook that Telegram cannot call shows in Status, with its reason.
// One that another program has changed is set again. A call that cannot be stored is an
// error, and Telegram repeats it. Run waits as long as retry_after says. It retries all other
// errors with growing, jittered waits.
//
// # Identity
//
// A person is a numeric user id. Anonymous admins and channels are the id of their
// chat. The placeholder users that Telegram shows for them have no identity.
//
// # Goroutines
//
// Run starts a bounded number of goroutines that hand updates to the intake, and
// one that registers the commands. It waits for all of them. Send, Typing and
// Preview start none. The token appears in no error, log line or printed value.
package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/internal/lazily"
)

// Options configure a [Channel]. Only Token is required.
type Options struct {
	// Token is the token from BotFather, "123456:ABC…".
	Token string
	// APIURL is the Bot API server; https://api.telegram.org if empty.
	APIURL string
	// PollTimeout is how long Telegram may hold a poll open; 50 s if 0.
	PollTimeout time.Duration
	// WebhookURL is the public address of this machine, below which Telegram calls
	// channels.CallbackPath of the channel instead of being polled. Empty: it is polled.
	WebhookURL string
	// WebhookSecret is what Telegram then shows: 16 to 256 letters, digits, "_" and "-".
	WebhookSecret string
	// WebhookEvery is how often Telegram is asked how the webhook does; a minute if 0.
	WebhookEvery time.Duration
	// NoPreview turns off previews of unfinished answers.
	NoPreview bool
	// PreviewEvery is the shortest time between two previews in a private chat;
	// one second if 0. In groups it is three times as long.
	PreviewEvery time.Duration
	// Shared says that several nodes take turns to poll for this bot. A second
	// poller then ends Run with channels.ErrElsewhere; without Shared, Run waits
	// until the other one is gone.
	Shared bool
	// Proxy chooses the proxy of a request, as in http.Transport; none if nil.
	Proxy func(*http.Request) (*url.URL, error)
	// HTTP, if set, makes all requests, and Proxy is ignored.
	HTTP *http.Client
	// Logger may be nil: then nothing is logged.
	Logger *slog.Logger
}

// String hides the token.
func (o Options) String() string { return "telegram options for " + o.APIURL }

// GoString hides the token.
func (o Options) GoString() string { return o.String() }

// LogValue hides the token.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.String()) }

// Channel is one bot. It is made by [New].
type Channel struct {
	name         string
	o            Options // without the token and the secret
	hook         webhook
	log          *slog.Logger
	api          *client
	id           int64 // the bot's user id
	preview      *previewer
	typing       *rateBudget
	albums       albums
	pastes       pastes
	againButtons againButtons
	blocked      blockedChats
	lost         lostTopics
	status       channels.StatusTracker
	menu         menu

	mu      sync.Mutex
	botName string
	// askedName is when Telegram was last asked for it because of a message.
	askedName time.Time
	seesAll   bool            // Telegram shows the bot all messages of its groups
	migrated  map[int64]int64 // new ids of groups that became supergroups
}

var (
	_ channels.Channel   = (*Channel)(nil)
	_ channels.Typer     = (*Channel)(nil)
	_ channels.Previewer = (*Channel)(nil)
	_ channels.Fader     = (*Channel)(nil)
	_ channels.Sharer    = (*Channel)(nil)
	_ channels.Retractor = (*Channel)(nil)
	_ channels.Splitter  = (*Channel)(nil)
	_ channels.Reporter  = (*Channel)(nil)
	_ channels.Commander = (*Channel)(nil)
	_ channels.Called    = (*Channel)(nil)
)

// tokenRefusedDetail is the status detail after Telegram has refused the token.
const tokenRefusedDetail = "Telegram refuses the token; put the one that BotFather shows into the configuration"

// secretForm is what Telegram takes as a secret, and long enough not to be guessed.
var secretForm = lazily.Compile(`^[A-Za-z0-9_-]{16,256}$`)

var tokenForm = lazily.Compile(`^([0-9]{1,19}):[A-Za-z0-9_-]+$`)

// New returns the channel called name. It starts nothing.
func New(name string, o Options) (*Channel, error) {
	if _, err := channels.NewKey(name, "1"); err != nil {
		return nil, fmt.Errorf("telegram: %w", err)
	}
	form := tokenForm.Regexp().FindStringSubmatch(o.Token)
	if form == nil {
		return nil, errors.New("telegram: the token is not one of BotFather's, which look like 123456:ABC-def")
	}
	id, err := strconv.ParseInt(form[1], 10, 64)
	if err != nil {
		return nil, errors.New("telegram: the token does not begin with a bot's number")
	}
	o.APIURL = cmp.Or(o.APIURL, "https://api.telegram.org")
	base, err := url.Parse(o.APIURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("telegram: the API address is not an http or https URL")
	}
	o.PollTimeout = cmp.Or(o.PollTimeout, 50*time.Second)
	o.PreviewEvery = cmp.Or(o.PreviewEvery, time.Second)
	o.WebhookEvery = cmp.Or(o.WebhookEvery, webhookEvery)
	if o.WebhookURL != "" && !secretForm.Matches(o.WebhookSecret) {
		return nil, errors.New("telegram: the webhook needs a secret of 16 to 256 letters, digits, _ and -")
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	c := &Channel{
		name: name, log: o.Logger.With("channel", name), id: id,
		api:     newClient(strings.TrimSuffix(o.APIURL, "/"), o.Token, o),
		preview: newPreviewer(o.PreviewEvery), typing: newRateBudget(typingPerSecond),
		migrated: map[int64]int64{}, hook: newWebhook(name, o.WebhookURL, o.WebhookSecret), menu: newMenu(),
	}
	o.Token = ""
	o.WebhookSecret = ""
	c.o = o
	c.status.Report(channels.Status{State: channels.StateDown, Detail: "not started"})
	return c, nil
}

// Name is the instance's name.
func (c *Channel) Name() string { return c.name }

// Status reports the state of polling.
func (c *Channel) Status() channels.Status { return c.status.Status() }

func (c *Channel) report(state channels.State, detail string) {
	if c.status.Report(channels.Status{State: state, Detail: detail}) {
		c.log.Info("channel state changed", "state", string(state), "detail", detail)
	}
}

// Run polls, or has Telegram call, until ctx ends or Telegram refuses the token. The
// package comment lists its failures.
func (c *Channel) Run(ctx context.Context, in channels.Intake) error {
	c.report(channels.StateConnecting, "asking Telegram who the bot is")
	defer c.api.http.CloseIdleConnections()
	err := c.receive(ctx, in)
	if ctx.Err() != nil {
		c.report(channels.StateDown, "stopped")
		return nil
	}
	c.report(channels.StateFailed, tokenRefusedDetail)
	return err
}

func (c *Channel) receive(ctx context.Context, in channels.Intake) error {
	if c.hook.url != "" {
		return c.keepWebhook(ctx)
	}
	return c.poll(ctx, in)
}

// Package telegram connects Dragoman to Telegram through the Bot API.
//
// Promise, inbound: an update is confirmed to Telegram only after the intake
// took it. The adapter polls by itself; each update is decoded alone; one that
// cannot be understood is set aside and does not stop the others. Updates of
// one chat are handed in one after the other, those of different chats side
// by side. Whatever was not confirmed comes again after a restart with the
// same Inbound.ID, the update id. Nothing is kept on disk here: Telegram
// itself holds what is not confirmed.
//
// Promise, outbound: Send returns nil when Telegram answered with the
// message. Text is Markdown, rendered as Telegram's HTML, and sent as plain
// text should Telegram refuse the markup.
//
// Failure cases of Run: a refused token ends it with [channels.ErrPermanent];
// a second poller or a webhook (409) is said in Status and tried again every
// 30 s (but see Options.Shared); retry_after is kept; everything else is tried again with a growing,
// jittered pause. Failure cases of Send: see [Channel.Send].
//
// Identity is the numeric user id. Anonymous admins and channels speak as
// their chat's id; the placeholder users that Telegram puts in their place
// are nobody.
//
// Goroutines: Run owns a bounded number that hand in updates, and one that
// registers commands; all have ended when it returns. Send, Typing and Preview
// start none of their own. The token is in no error, no log line and no
// printed value.
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

// Options of a channel. Only Token must be set.
type Options struct {
	// Token is what BotFather gave, "123456:ABC…".
	Token string
	// APIURL is the Bot API server; https://api.telegram.org if empty.
	APIURL string
	// PollTimeout is how long Telegram may hold a poll open; 50 s if 0.
	PollTimeout time.Duration
	// NoPreview turns off showing answers while they are written.
	NoPreview bool
	// PreviewEvery is the least time between two previews in a private chat;
	// one second if 0. Groups get a third of that.
	PreviewEvery time.Duration
	// Shared says that several nodes poll for this bot, one at a time. A second
	// poller ends Run with channels.ErrElsewhere, where it is waited out otherwise.
	Shared bool
	// Proxy picks the proxy of a request, as in http.Transport; none if nil.
	Proxy func(*http.Request) (*url.URL, error)
	// HTTP is used for every request if set, and Proxy is not.
	HTTP *http.Client
	// Logger is silent if nil.
	Logger *slog.Logger
}

// String hides the token.
func (o Options) String() string { return "telegram options for " + o.APIURL }

// GoString hides the token.
func (o Options) GoString() string { return o.String() }

// LogValue hides the token.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.String()) }

// Channel is one bot. Make it with [New].
type Channel struct {
	name     string
	o        Options // without the token
	log      *slog.Logger
	api      *client
	id       int64 // the bot's user id
	preview  *previewer
	typing   *allowance
	albums   albums
	offers   offers
	shut     shut
	status   channels.StatusTracker
	commands []channels.Command

	mu      sync.Mutex
	botName string
	moved   map[int64]int64 // groups that became supergroups
}

var (
	_ channels.Channel   = (*Channel)(nil)
	_ channels.Typer     = (*Channel)(nil)
	_ channels.Previewer = (*Channel)(nil)
	_ channels.Fader     = (*Channel)(nil)
	_ channels.Retractor = (*Channel)(nil)
	_ channels.Splitter  = (*Channel)(nil)
	_ channels.Reporter  = (*Channel)(nil)
	_ channels.Commander = (*Channel)(nil)
)

// tokenRefused is the status of a bot that Telegram does not know.
const tokenRefused = "Telegram refuses the token; put the one that BotFather shows into the configuration"

var tokenForm = lazily.Compile(`^([0-9]{1,19}):[A-Za-z0-9_-]+$`)

// New makes the channel called name. It connects to nothing.
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
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	c := &Channel{
		name: name, log: o.Logger.With("channel", name), id: id,
		api:     newClient(strings.TrimSuffix(o.APIURL, "/"), o.Token, o),
		preview: newPreviewer(o.PreviewEvery), typing: newAllowance(typingPerSecond),
		moved: map[int64]int64{},
	}
	o.Token = ""
	c.o = o
	c.status.Report(channels.Status{State: channels.StateDown, Detail: "not started"})
	return c, nil
}

// Name is the instance's name.
func (c *Channel) Name() string { return c.name }

// SetCommands remembers what Run registers for completion.
func (c *Channel) SetCommands(commands []channels.Command) {
	c.commands = append([]channels.Command(nil), commands...)
}

// Status says how the connection is doing.
func (c *Channel) Status() channels.Status { return c.status.Status() }

func (c *Channel) report(state channels.State, detail string) {
	if c.status.Report(channels.Status{State: state, Detail: detail}) {
		c.log.Info("channel state changed", "state", string(state), "detail", detail)
	}
}

// Run polls until ctx ends. See the package's comment.
func (c *Channel) Run(ctx context.Context, in channels.Intake) error {
	c.report(channels.StateConnecting, "asking Telegram who the bot is")
	defer c.api.http.CloseIdleConnections()
	err := c.poll(ctx, in)
	if ctx.Err() != nil {
		c.report(channels.StateDown, "stopped")
		return nil
	}
	c.report(channels.StateFailed, tokenRefused)
	return err
}

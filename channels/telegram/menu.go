package telegram

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/channels/markup"
	"dragoman/internal/lazily"

	"github.com/go-telegram/bot/models"
)

// menu is what people are offered while they type.
type menu struct {
	mu   sync.Mutex
	now  channels.Menu
	news chan struct{} // capacity 1: it has changed
}

func newMenu() menu { return menu{news: make(chan struct{}, 1)} }

// all are the commands that concern us, also in groups.
func (m *menu) all() []channels.Command {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now.Known
}

func (m *menu) is() channels.Menu {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// SetCommands sets the commands that Run registers with Telegram for completion.
func (c *Channel) SetCommands(m channels.Menu) {
	c.menu.mu.Lock()
	c.menu.now = m
	c.menu.mu.Unlock()
	select {
	case c.menu.news <- struct{}{}:
	default: // it is about to look
	}
}

// menuScope says whose menu is meant. Telegram shows the most exact one that there is.
type menuScope struct {
	Type   string `json:"type"`
	ChatID int64  `json:"chat_id,omitempty"`
}

// menuParams are the parameters of setMyCommands.
type menuParams struct {
	Commands []models.BotCommand `json:"commands"`
	Scope    menuScope           `json:"scope"`
}

// menus are the calls that register m.
func menus(m channels.Menu) (calls []menuParams) {
	calls = []menuParams{
		{inMenu(m.Private), menuScope{Type: "all_private_chats"}},
		{inMenu(m.Shared), menuScope{Type: "all_group_chats"}},
	}
	chat, err := strconv.ParseInt(m.OperatorChat, 10, 64)
	if err == nil && chat > 0 { // else it is no private chat
		calls = append(calls, menuParams{inMenu(m.Operator), menuScope{"chat", chat}})
	}
	return calls
}

var commandForm = lazily.Compile(`^[a-z0-9_]{1,32}$`)

// inMenu are the commands that Telegram takes: it refuses a list that has another.
func inMenu(list []channels.Command) []models.BotCommand {
	all := []models.BotCommand{}
	for _, command := range list {
		name := strings.ToLower(command.Name)
		help := markup.Clip(command.Help, 256)
		if commandForm.Regexp().MatchString(name) && help != "" {
			all = append(all, models.BotCommand{Command: name, Description: help})
		}
	}
	return all
}

// menuPause is the longest pause between attempts to register a menu.
const menuPause = 10 * time.Minute

// keepMenu registers the commands, and again when they have changed, until ctx ends. They
// also work without it, so a failure is tried again in the background. A menu that was
// registered by this run is not sent twice.
func (c *Channel) keepMenu(ctx context.Context) {
	registered := map[menuScope][]models.BotCommand{}
	tries := channels.Backoff{Least: time.Second, Most: menuPause}
	for ctx.Err() == nil {
		err := c.registerMenu(ctx, registered)
		wait := time.Duration(-1)
		switch r := (*apiError)(nil); {
		case ctx.Err() != nil:
			return
		case err == nil:
			tries.Failed = 0
		case errors.As(err, &r) && r.after > 0:
			wait = min(r.after, maxPause)
		default:
			wait = tries.Next()
		}
		if err != nil {
			c.log.Warn("could not register the commands, will try again", "err", err, "wait", wait)
		}
		c.awaitMenu(ctx, wait)
	}
}

// awaitMenu waits for another menu, and for d at most unless that is negative.
func (c *Channel) awaitMenu(ctx context.Context, d time.Duration) {
	var over <-chan time.Time
	if d >= 0 {
		over = time.After(d)
	}
	select {
	case <-ctx.Done():
	case <-c.menu.news:
	case <-over:
	}
}

// refusesChat reports whether Telegram knows no such chat: it has not written to the bot.
func refusesChat(err error) bool {
	r := (*apiError)(nil)
	return errors.As(err, &r) && r.code == http.StatusBadRequest
}

// registerMenu registers what has changed since registered, which it changes.
func (c *Channel) registerMenu(ctx context.Context, registered map[menuScope][]models.BotCommand) error {
	calls := menus(c.menu.is())
	for _, call := range calls {
		was, is := registered[call.Scope]
		if is && slices.Equal(was, call.Commands) || !is && len(call.Commands) == 0 {
			continue
		}
		_, err := c.api.call(ctx, "setMyCommands", call, callTimeout)
		if call.Scope.ChatID != 0 && refusesChat(err) {
			c.log.Debug("a chat that does not exist yet has no menu of its own", "err", err)
			err = nil
		}
		if err != nil {
			return err
		}
		registered[call.Scope] = call.Commands
	}
	for scope := range registered {
		if slices.ContainsFunc(calls, func(p menuParams) bool { return p.Scope == scope }) {
			continue
		}
		_, err := c.api.call(ctx, "deleteMyCommands", map[string]menuScope{"scope": scope}, callTimeout)
		if err != nil {
			return err
		}
		delete(registered, scope)
	}
	return nil
}

package telegram

import (
	"context"
	"encoding/json"
	"strings"

	"dragoman/channels/markup"
	"dragoman/internal/lazily"

	"github.com/go-telegram/bot/models"
)

// loadUsername asks Telegram for the bot's user name, unless an earlier Run has.
func (c *Channel) loadUsername(ctx context.Context) error {
	if c.username() != "" {
		return nil
	}
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
	return nil
}

func (c *Channel) username() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.botName
}

var commandForm = lazily.Compile(`^[a-z0-9_]{1,32}$`)

// registerCommands tells Telegram the commands, for completion. They also work
// without it, so after a failure it waits for the next start.
func (c *Channel) registerCommands(ctx context.Context) {
	params := struct {
		Commands []models.BotCommand `json:"commands"`
	}{[]models.BotCommand{}}
	for _, command := range c.commands {
		name, help := strings.ToLower(command.Name), markup.Clip(command.Help, 256)
		if commandForm.Regexp().MatchString(name) && help != "" {
			params.Commands = append(params.Commands, models.BotCommand{Command: name, Description: help})
		}
	}
	if len(params.Commands) == 0 {
		return
	}
	if _, err := c.api.call(ctx, "setMyCommands", params, callTimeout); err != nil && ctx.Err() == nil {
		c.log.Warn("could not register the commands", "err", err)
	}
}

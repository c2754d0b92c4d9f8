package telegram

import (
	"context"
	"encoding/json"
	"strings"

	"dragoman/channels"
	"dragoman/channels/markup"
	"dragoman/internal/lazily"

	"github.com/go-telegram/bot/models"
)

// introduce asks Telegram for the bot's name. One from an earlier Run is good.
func (c *Channel) introduce(ctx context.Context) error {
	if c.username() != "" {
		return nil
	}
	result, err := c.api.call(ctx, "getMe", struct{}{}, callLimit)
	if err != nil {
		return err
	}
	var me models.User
	if err := json.Unmarshal(result, &me); err != nil || me.Username == "" {
		return &broken{"getMe", true, errUnreadable}
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

// register tells Telegram the commands, for completion. It is a convenience:
// after a few failures it waits for the next start.
func (c *Channel) register(ctx context.Context) {
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
	var tries channels.Backoff
	for tries.Failed < 5 && ctx.Err() == nil {
		_, err := c.api.call(ctx, "setMyCommands", params, callLimit)
		if err == nil {
			return
		}
		wait := tries.Next()
		c.log.Warn("commands were not registered", "err", err, "attempt", tries.Failed)
		channels.Sleep(ctx, wait)
	}
}

package app

import (
	"context"
	"net/http"

	"dragoman/channels/telegram"
)

// ErrBotToken says that Telegram knows no bot with a token.
var ErrBotToken = telegram.ErrToken

// BotName returns the name of the Telegram bot that has this token, from the Bot API
// server at that URL, "" for Telegram's own. Errors: ErrBotToken; others say that the
// server could not be asked.
func BotName(ctx context.Context, token, server string) (string, error) {
	return telegram.BotName(ctx, token, server, http.ProxyFromEnvironment)
}

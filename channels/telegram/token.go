package telegram

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// ErrToken says that Telegram knows no bot with a token, or that it cannot be one's.
var ErrToken = errors.New("telegram: no bot has this token")

// BotName asks the Bot API server at apiURL, "" for Telegram's own, which bot has the
// token. Errors: [ErrToken]; others say that the server could not be asked. It takes at
// most ten seconds.
func BotName(ctx context.Context, token, apiURL string, proxy func(*http.Request) (*url.URL, error)) (string, error) {
	if what, _ := new(Settings).Forms()["bot token"](token); what != "" {
		return "", ErrToken
	}
	c, err := New(Type.Name, Options{Token: token, APIURL: apiURL, Proxy: proxy})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	switch err := c.loadUsername(ctx); {
	case refused(err):
		return "", ErrToken
	case err != nil:
		return "", err
	}
	return c.username(), nil
}

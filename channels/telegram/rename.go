package telegram

import (
	"context"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"
)

const (
	// askNameEvery bounds how often Telegram is asked whether the bot has a new name.
	askNameEvery = 30 * time.Second
	askNameIn    = 5 * time.Second
)

// learnName notices that the bot was renamed at BotFather while it runs: a message in a
// group shows its new name, or speaks to a bot that is not known. If Telegram cannot be
// asked, the old name counts.
func (c *Channel) learnName(ctx context.Context, m *models.Message) {
	if r := m.ReplyToMessage; r != nil && r.From != nil && r.From.ID == c.id && r.From.Username != "" {
		c.mu.Lock()
		c.botName = r.From.Username
		c.mu.Unlock()
	}
	if m.Chat.Type == models.ChatTypePrivate || !c.namesAnother(m) || !c.mayAskName(time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askNameIn)
	defer cancel()
	before := c.username()
	if err := c.askUsername(ctx); err != nil {
		c.log.Debug("could not ask for the bot's name", "err", err)
		return
	}
	if now := c.username(); now != before {
		c.log.Info("the bot has another name", "name", now)
	}
}

// namesAnother reports whether m names a bot by a name that is not ours. Names of bots
// end with "bot".
func (c *Channel) namesAnother(m *models.Message) bool {
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.CaptionEntities
	}
	for _, e := range entities {
		if e.Type != models.MessageEntityTypeMention && e.Type != models.MessageEntityTypeBotCommand {
			continue
		}
		start, end, ok := span(text, e.Offset, e.Length)
		if !ok {
			continue
		}
		_, name, named := strings.Cut(text[start:end], "@")
		if named && strings.HasSuffix(strings.ToLower(name), "bot") && !c.isMe(name) {
			return true
		}
	}
	return false
}

// mayAskName reports whether it is time to ask again, and counts that as asked.
func (c *Channel) mayAskName(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.askedName) < askNameEvery {
		return false
	}
	c.askedName = now
	return true
}

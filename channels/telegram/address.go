package telegram

import (
	"strings"

	"github.com/go-telegram/bot/models"
)

// address finds out whether text is meant for the bot, and takes the bot's
// name off its start ("@bot what?" is "what?", "/new@bot" is "/new"). ok is
// false for a command that names another bot.
func (c *Channel) address(text string, entities []models.MessageEntity) (rest string, addressed, ok bool) {
	for _, e := range entities {
		start, end, valid := span(text, e.Offset, e.Length)
		if !valid {
			continue
		}
		marked := text[start:end]
		switch e.Type {
		case models.MessageEntityTypeBotCommand:
			if start != 0 {
				continue
			}
			command, bot, named := strings.Cut(marked, "@")
			if named && !c.isMe(bot) {
				return "", false, false
			}
			return command + text[end:], true, true
		case models.MessageEntityTypeMention:
			if !c.isMe(strings.TrimPrefix(marked, "@")) {
				continue
			}
		case models.MessageEntityTypeTextMention:
			if e.User == nil || e.User.ID != c.id {
				continue
			}
		default:
			continue
		}
		addressed = true
		if strings.TrimSpace(text[:start]) == "" {
			if after := strings.TrimLeft(text[end:], " ,:;\n\t"); after != "" {
				// Offsets of later entities no longer fit, but one mention is enough.
				return after, true, true
			}
		}
	}
	return text, addressed, true
}

func (c *Channel) isMe(username string) bool {
	return username != "" && strings.EqualFold(username, c.username())
}

// span turns an entity's UTF-16 offset and length into byte positions; false
// if they do not lie within text or cut a character.
func span(text string, offset, length int) (start, end int, ok bool) {
	if offset < 0 || length <= 0 {
		return 0, 0, false
	}
	start, end = -1, -1
	at := 0 // UTF-16 units before byte i
	for i, r := range text {
		if at == offset {
			start = i
		}
		if at == offset+length {
			end = i
		}
		at += unitsOf(r)
	}
	if at == offset+length {
		end = len(text)
	}
	return start, end, start >= 0 && end > start
}

// unitsOf is the length of r in UTF-16, in which Telegram measures.
func unitsOf(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

// units is the length of s in UTF-16.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += unitsOf(r)
	}
	return n
}

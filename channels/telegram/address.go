package telegram

import (
	"slices"
	"strings"
	"unicode/utf16"

	"dragoman/channels"

	"github.com/go-telegram/bot/models"
)

// spokenTo reports whether text addresses the bot, and which part of it is then left out:
// the bot's name at the beginning ("@bot what?" becomes "what?", "/new@bot" becomes
// "/new"). ok is false for a command to another bot. A command that names no bot is for us
// if we know it, or if Telegram shows the bot only what is for it.
func (c *Channel) spokenTo(text string, entities []models.MessageEntity) (name cut, addressed, ok bool) {
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
				return cut{}, false, false
			}
			return cut{len(command), end}, named || c.isCommand(command) || !c.readsAll(), true
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
				return cut{0, len(text) - len(after)}, true, true // One mention is enough.
			}
		}
	}
	return cut{}, addressed, true
}

// isCommand reports whether word ("/new") is one of our commands.
func (c *Channel) isCommand(word string) bool {
	return slices.ContainsFunc(c.menu.all(), func(known channels.Command) bool { return strings.EqualFold("/"+known.Name, word) })
}

func (c *Channel) isMe(username string) bool {
	return username != "" && strings.EqualFold(username, c.username())
}

// span converts an entity's UTF-16 offset and length to byte positions. ok is false
// if they lie outside text or inside a character.
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
		at += utf16.RuneLen(r)
	}
	if at == offset+length {
		end = len(text)
	}
	return start, end, start >= 0 && end > start
}

// units is the length of s in UTF-16 code units, which Telegram counts.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// Shared implements [channels.Sharer]: ids of groups are negative, with or without a topic.
func (c *Channel) Shared(chat string) bool { return strings.HasPrefix(chat, "-") }

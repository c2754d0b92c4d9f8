package telegram

import (
	"dragoman/channels"
	"dragoman/channels/markup"
)

// mostUnits is how many UTF-16 units Telegram takes in one message.
const mostUnits = 4096

// Split cuts markdown into pieces of at most 4096 UTF-16 units, both as
// written (it may have to be sent as plain text) and as rendered (tables grow).
func (c *Channel) Split(_ channels.Key, markdown string) []string {
	return markup.Split(markdown, markup.Ruler{
		Most: mostUnits, Unit: unitsOf,
		Shown: func(piece string) int { return units(render(piece).plain) },
	})
}

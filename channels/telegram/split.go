package telegram

import (
	"unicode/utf16"

	"dragoman/channels"
	"dragoman/channels/markup"
)

// maxUnits is the most UTF-16 code units in one message.
const maxUnits = 4096

// Split cuts markdown into pieces of at most 4096 UTF-16 code units. Both the source
// and the rendered text fit, because tables grow when they are rendered.
func (c *Channel) Split(_ channels.Key, markdown string) []string { return splitTo(markdown, maxUnits) }

// maxEntities is the most entities (pieces of markup) in one message. Telegram drops
// the others.
const maxEntities = 100

// splitTo is Split with a limit of most units.
func splitTo(markdown string, most int) []string {
	return markup.Split(markdown, markup.Ruler{
		Most: most, Unit: utf16.RuneLen,
		Shown: func(piece string) int {
			p := render(piece)
			return max(units(p.plain), most*p.entities()/maxEntities)
		},
	})
}

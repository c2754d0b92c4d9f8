package telegram

import (
	"dragoman/channels"
	"dragoman/channels/markup"
)

// mostUnits is how many UTF-16 units Telegram takes in one message.
const mostUnits = 4096

// Split cuts markdown into pieces of at most 4096 UTF-16 units, both as
// written (it may have to be sent as plain text) and as rendered (tables grow).
func (c *Channel) Split(_ channels.Key, markdown string) []string { return cut(markdown, mostUnits) }

// mostEntities is how much markup Telegram takes in one message; it drops the
// rest.
const mostEntities = 100

// cut is Split for pieces of at most most units.
func cut(markdown string, most int) []string {
	return markup.Split(markdown, markup.Ruler{
		Most: most, Unit: unitsOf,
		Shown: func(piece string) int {
			p := render(piece)
			return max(units(p.plain), most*p.marks()/mostEntities)
		},
	})
}

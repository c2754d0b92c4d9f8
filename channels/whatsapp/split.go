package whatsapp

import (
	"dragoman/channels"
	"dragoman/channels/markup"
)

// mostCharacters is how long a piece may be. WhatsApp would take sixteen times
// as much, but phones fold long messages, and one that cannot be sent is then
// less to send again.
const mostCharacters = 4000

// Split cuts markdown into pieces of at most 4000 characters.
func (c *Channel) Split(_ channels.Key, markdown string) []string {
	return markup.Split(markdown, markup.Ruler{Most: mostCharacters})
}

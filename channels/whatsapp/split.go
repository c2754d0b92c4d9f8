package whatsapp

import (
	"dragoman/channels"
	"dragoman/channels/markup"
)

// maxCharacters bounds a piece. WhatsApp accepts sixteen times as much, but phones fold
// long messages, and a failed piece is less to send again.
const maxCharacters = 4000

// Split cuts markdown into pieces of at most 4000 characters.
func (c *Channel) Split(_ channels.Key, markdown string) []string {
	return markup.Split(markdown, markup.Ruler{Most: maxCharacters})
}

package telegram

import "dragoman/channels/markup"

// Render shows both forms of a text, and lets panics through.
func Render(md string) (html, plain string) {
	p := typeset(markup.Tidy(md))
	return p.html, p.plain
}

// Units is the length that Telegram measures.
func Units(s string) int { return units(s) }

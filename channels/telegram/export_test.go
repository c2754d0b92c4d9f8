package telegram

import "dragoman/channels/markup"

// Render returns both forms of a text. It does not recover from panics.
func Render(md string) (html, plain string) {
	p := typeset(markup.Tidy(md))
	return p.html, p.plain
}

// Units is the length of s as Telegram counts it.
func Units(s string) int { return units(s) }

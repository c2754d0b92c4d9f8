package app

import (
	"dragoman/channels"
	"dragoman/channels/irc"
	"dragoman/channels/live"
	"dragoman/channels/telegram"
	"dragoman/channels/terminal"
	"dragoman/channels/whatsapp"
)

// Types are all types of channels, in the order of documentation and messages. A new
// one is one more line.
func Types() []channels.Type {
	return []channels.Type{
		telegram.Type,
		whatsapp.Type,
		irc.Type,
		live.Type,
		terminal.Type,
	}
}

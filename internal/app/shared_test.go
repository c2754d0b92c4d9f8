//go:build !nowhatsapp

package app_test

import (
	"testing"

	"dragoman/channels"
	"dragoman/channels/irc"
	"dragoman/channels/telegram"
	"dragoman/channels/whatsapp"
)

// Each network tells its shared chats from its private ones by their ids.
func TestSharedChats(t *testing.T) {
	for _, network := range []struct {
		name            string
		channel         channels.Sharer
		shared, private []string
	}{
		{"irc", new(irc.Channel), []string{"#rust", "&local", "!ABCDEmoss", "+quiet"}, []string{"alice", "~x", ""}},
		{"telegram", new(telegram.Channel), []string{"-1001234567890", "-1001234567890:7", "-42"}, []string{"123456", "123456:7"}},
		{"whatsapp", new(whatsapp.Channel), []string{"120363040000000000@g.us", "15550001001-1700000000@g.us"}, []string{"+15550001001", "123456789@lid", "moss"}},
	} {
		for _, chat := range network.shared {
			if !network.channel.Shared(chat) {
				t.Errorf("%s: Shared(%q) = false, want true", network.name, chat)
			}
		}
		for _, chat := range network.private {
			if network.channel.Shared(chat) {
				t.Errorf("%s: Shared(%q) = true, want false", network.name, chat)
			}
		}
	}
}

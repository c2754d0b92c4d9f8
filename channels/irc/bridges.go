package irc

import (
	"strings"

	"dragoman/channels"
	"dragoman/internal/lazily"

	"github.com/lrstanley/girc"
)

// bridged matches a line that a bridge relays: "<carl> hi", perhaps with the name of the
// network before it.
var bridged = lazily.Compile(`(?s)^(?:\[[^\]\n]{1,32}\] ?)?<([^<>\n]{1,64})> *(\S.*)$`)

// isBridge reports whether nick is that of a bridge in the configuration. Bridges often
// carry the mark of a bot.
func (s *session) isBridge(nick string) bool {
	for _, bridge := range s.ch.opts.Bridges {
		if s.net.fold.same(bridge, nick) {
			return true
		}
	}
	return false
}

// unbridge turns m, a line with this text from src, into a message of the person behind the
// bridge, and returns the text without their name. Other lines it returns unchanged: the
// bridge speaks of itself.
//
// The network vouches for the bridge alone, and the bridge for the name, so both are in the
// person's identity.
func (s *session) unbridge(m channels.Inbound, src girc.Source, text string) (channels.Inbound, string) {
	found := bridged.Regexp().FindStringSubmatch(text)
	if found == nil || !s.isBridge(src.Name) {
		return m, text
	}
	name := bridgedName(found[1])
	if name == "" {
		return m, text
	}
	m.Sender = channels.Person{IDs: []string{lowerASCII("bridge:" + src.Name + "/" + name)}, Name: name}
	m.MessageID = formatHandle(strings.ReplaceAll(name, " ", "\u00a0"), identity{user: "bridged", host: lowerASCII(src.Name)}, m.ID)
	return m, found[2]
}

// bridgedName is a name without the signs of rank before it and without the invisible
// characters that bridges put into names, so that nobody is notified of their own words.
func bridgedName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= '\u200b' && r <= '\u200f', r == '\u2060', r == '\ufeff':
			return -1
		case r == '!' || r == '\u00a0':
			return '_' // they have a meaning in handles
		}
		return r
	}, name)
	return strings.Join(strings.Fields(strings.TrimLeft(name, "@+%~&")), " ")
}

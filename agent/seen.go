package agent

import (
	"slices"
	"strings"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/sessions"
)

// Seen is what a model had before it when it made a call, for tools whose effect depends on
// whose idea their arguments are. The zero value has nothing.
type Seen struct {
	messages []sessions.Message
	who      speaker
}

// SeenBy is what a model has seen that answers who in a chat with these messages.
func SeenBy(who channels.Person, private bool, messages []sessions.Message) Seen {
	return Seen{messages, speaker{who, !private}}
}

// Said reports whether the person wrote address, letter for letter, in words of their own.
func (s Seen) Said(address string) bool {
	return s.any(address, func(m *sessions.Message) bool {
		if m.Role != sessions.RoleUser || m.Synthetic || s.who.isOther(m) {
			return false
		}
		var t sessions.Taint
		t.AddMessage(m)
		return t.IsClean()
	})
}

// Linked reports whether a page that was read has address, letter for letter. The results of
// other tools do not count: the model may have written what they return, and so would
// decide itself what is sent to that address.
func (s Seen) Linked(address string) bool {
	return s.any(address, func(m *sessions.Message) bool {
		return m.Role == sessions.RoleTool && !m.Synthetic && len(m.Origins) == 1 && m.Origins[0] == sessions.OriginWeb
	})
}

func (s Seen) any(address string, counts func(*sessions.Message) bool) bool {
	if address == "" {
		return false
	}
	for i := range s.messages {
		m := &s.messages[i]
		if counts(m) && hasAddress(m.Content, address) {
			return true
		}
	}
	return false
}

// hasAddress reports whether text has address as a whole, and not as a part of a longer one.
func hasAddress(text, address string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], address)
		if i < 0 {
			return false
		}
		begin := at + i
		end := begin + len(address)
		if beginsAddress(text[:begin]) && endsAddress(text[end:]) {
			return true
		}
		at = begin + 1
	}
}

// beginsAddress reports whether an address may begin after before.
func beginsAddress(before string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || strings.ContainsRune(" \t\r\n<>()[]{}\"'`,;:!?|*_~«“‘", last)
}

// endsAddress reports whether an address may end before after: what follows until the next
// space is only what ends a sentence or a bracket.
func endsAddress(after string) bool {
	if i := strings.IndexAny(after, " \t\r\n<>\"`|"); i >= 0 {
		after = after[:i]
	}
	return strings.Trim(after, ".,;:!?)]}'*_~…»”’") == ""
}

// speaker is the person whom a turn answers, as far as it matters whose a message is.
type speaker struct {
	channels.Person
	shared bool // others write in the chat, too
}

// isOther reports whether somebody else than s wrote m, a user message. Where a chat is
// private, or its messages are a caller's, nobody else writes.
func (s *speaker) isOther(m *sessions.Message) bool {
	switch {
	case !s.shared || m.Role != sessions.RoleUser || m.Synthetic && m.Sender == "":
		return false
	case m.Sender == "" && len(s.IDs) == 0:
		return m.Name != s.Name
	}
	return m.Sender == "" || !slices.Contains(s.IDs, m.Sender)
}

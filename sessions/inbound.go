package sessions

import (
	"strings"

	"dragoman/channels"
)

// quoteBytes bounds how much of a quoted message the model is shown.
const quoteBytes = 1000

// UserMessage is how m stands in a transcript. The gateway builds the input
// of a turn with it and the stores use it for messages that a [Control]
// closes, so that both read alike.
func UserMessage(m channels.Inbound) Message {
	var b strings.Builder
	if m.Quote != nil && m.Quote.Text != "" {
		who := m.Quote.Name
		if who == "" {
			who = "an earlier message"
		}
		quoted := clipBytes(m.Quote.Text, quoteBytes)
		if len(quoted) < len(m.Quote.Text) {
			quoted += "…"
		}
		b.WriteString("> " + OneLine(who, 60) + ": " + strings.ReplaceAll(quoted, "\n", "\n> ") + "\n\n")
	}
	b.WriteString(m.Prefix)
	b.WriteString(m.Text)
	return Message{
		Role:    RoleUser,
		Content: b.String(),
		Name:    m.Sender.Name,
		Sender:  m.Sender.ID(),
		At:      m.At,
	}
}

// EditNote is the message that stands in the transcript for an edit that
// came too late to change the message itself.
func EditNote(m channels.Inbound) Message {
	who := m.Sender.Name
	if who == "" {
		who = "the sender"
	}
	return Message{
		Role:      RoleUser,
		Content:   "[" + OneLine(who, 60) + " changed an earlier message to:] " + m.Text,
		Name:      m.Sender.Name,
		Sender:    m.Sender.ID(),
		At:        m.At,
		Synthetic: true,
	}
}

// OneLine makes foreign text safe to stand inside a bracketed label: one
// line, without brackets, at most so many bytes.
func OneLine(s string, most int) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '[' || r == ']':
			return -1
		case r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029:
			return ' '
		}
		return r
	}, clipBytes(s, 4*most))
	clean = strings.Join(strings.Fields(clean), " ")
	if len(clean) > most {
		clean = clipBytes(clean, most) + "…"
	}
	return clean
}

// clipBytes cuts s to at most so many bytes and drops what is not UTF-8, the
// character that the cut went through included.
func clipBytes(s string, most int) string {
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

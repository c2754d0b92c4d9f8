package sessions

import "strings"

// MessageKind says what a message is beside its role.
type MessageKind string

// The kinds of messages. Most have none.
const (
	// MessageAgain asks for another answer to an earlier question, which it repeats.
	MessageAgain MessageKind = "again"
	// MessageStopped is as much of an answer as there was when a person stopped it.
	MessageStopped MessageKind = "stopped"
	// MessagePlain is what a person wrote, although it begins like a MessageAgain of
	// versions before kinds.
	MessagePlain MessageKind = "plain"
)

// StoppedMark tells the model that the answer before it was stopped.
const StoppedMark = "[stopped by the person]"

// StoppedAnswer is the message of an answer that a person stopped after text.
func StoppedAnswer(text string) Message {
	var c content
	c.write(text)
	c.forModel("\n\n" + StoppedMark)
	m := Message{Role: RoleAssistant, Kind: MessageStopped, Synthetic: true}
	c.into(&m)
	return m
}

// Said is what people are shown of m: its content without the words that are for the model.
func (m *Message) Said() string {
	if len(m.ForModel) == 0 {
		return m.Content
	}
	var b strings.Builder
	at := 0
	for _, part := range m.ForModel { // from an import, they may be anything
		start := min(max(part.Start, at), len(m.Content))
		b.WriteString(m.Content[at:start])
		at = min(max(part.End, start), len(m.Content))
	}
	b.WriteString(m.Content[at:])
	return strings.TrimSpace(strings.ToValidUTF8(b.String(), ""))
}

// content is a [Message.Content] while it is written.
type content struct {
	strings.Builder
	parts []Mark
}

func (c *content) write(text string) { c.WriteString(text) }

// forModel writes words that are not shown to people.
func (c *content) forModel(text string) {
	start := c.Len()
	c.WriteString(text)
	if text != "" {
		c.parts = append(c.parts, Mark{Start: start, End: c.Len()})
	}
}

func (c *content) into(m *Message) {
	m.Content = c.String()
	m.ForModel = c.parts
}

package sessions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"dragoman/channels"
)

// quoteBytes bounds how much of a quoted message the model is shown.
const quoteBytes = 1000

// AgainMark begins a question that a person asks once more, as the model and readers of
// the chat see it.
const AgainMark = "[asks for another answer to:] "

// UserMessage renders m as a message of the transcript: its text, and a line for
// each file. The gateway uses it for the input of a turn, and stores use it for
// messages that a [Control] closes.
func UserMessage(m channels.Inbound) Message {
	var c content
	if m.Quote != nil && m.Quote.Text != "" {
		who := cmp.Or(m.Quote.Name, "an earlier message")
		quoted := clipBytes(m.Quote.Text, quoteBytes)
		if len(quoted) < len(m.Quote.Text) {
			quoted += "…"
		}
		c.write("> " + OneLine(who, 60) + ": " + strings.ReplaceAll(quoted, "\n", "\n> ") + "\n\n")
	}
	c.forModel(m.Prefix)
	if f := m.Forwarded; f != nil && f.Name != "" {
		c.write("[forwarded from " + OneLine(f.Name, 60) + "] ")
	} else if f != nil {
		c.write("[forwarded] ")
	}
	var kind MessageKind
	switch {
	case m.Again:
		kind = MessageAgain
		c.forModel(AgainMark)
	case strings.HasPrefix(m.Text, AgainMark):
		kind = MessagePlain
	}
	c.write(m.Text)
	files := transcribed(m.Attachments)
	for i, a := range files {
		before := ""
		if i > 0 || strings.TrimSpace(m.Text) != "" {
			before = "\n"
		}
		c.writeFile(before, a)
	}
	one := Message{
		Role:        RoleUser,
		Kind:        kind,
		Name:        m.Sender.Name,
		Sender:      m.Sender.ID(),
		At:          m.At,
		Via:         m.Via,
		Origins:     contentTaint(&m).List(),
		Attachments: files,
	}
	c.into(&one)
	return one
}

// InboundTaint is whose words m has beside the sender's.
func InboundTaint(m *channels.Inbound) Taint {
	t := contentTaint(m)
	t.addVia(m.Via)
	return t
}

// contentTaint is InboundTaint without what m came through, which the transcript has in
// another field. A quoted message and the name of a file can be anybody's, and so can what a
// picture shows. A voice that the sender recorded is their own.
func contentTaint(m *channels.Inbound) Taint {
	t := TaintOf(m.Origins...)
	if m.Forwarded != nil || m.Quote != nil && strings.TrimSpace(m.Quote.Text) != "" {
		t.Add(OriginOthers)
	}
	for i := range m.Attachments {
		switch a := &m.Attachments[i]; {
		case a.Quoted:
			t.Add(OriginOthers)
			if a.Kind != channels.AttachmentVoice {
				t.Add(OriginFile)
			}
		case a.Kind != channels.AttachmentVoice:
			t.Add(OriginFile)
		}
	}
	return t
}

// transcribed returns the files of a message for a transcript, without the network's
// references.
func transcribed(all []channels.Attachment) []channels.Attachment {
	if len(all) == 0 {
		return nil
	}
	kept := slices.Clone(all[:min(len(all), channels.MaxAttachments)])
	for i := range kept {
		kept[i].Ref = ""
		if kept[i].File == "" && kept[i].Missing == "" {
			kept[i].Missing = "not fetched"
		}
	}
	return kept
}

// writeFile writes a line about a file, after before. Of a recording whose words were
// heard it is like "[voice, 0:14] the words": nobody can read the file as text, and the
// words are all that a model needs. People are shown the words of the sender's own ones.
func (c *content) writeFile(before string, a channels.Attachment) {
	words := Printable(a.Words)
	switch {
	case words == "":
		c.forModel(before + attachmentLine(a))
	case a.Quoted:
		c.forModel(before + spokenMark(a) + words)
	default:
		c.write(before)
		c.forModel(spokenMark(a))
		c.write(words)
	}
}

// attachmentLine is one line like
//
//	[document "notes.txt", text/plain, 2 kB, file irc_alice/k3….txt]
//
// Tools open the file by its path. The line is safe although everything in it comes
// from strangers.
func attachmentLine(a channels.Attachment) string {
	parts := []string{cmp.Or(OneLine(string(a.Kind), 20), "file")}
	if a.Quoted {
		parts[0] += " of the quoted message"
	}
	if name := strings.ReplaceAll(OneLine(a.Name, 100), `"`, "'"); name != "" {
		parts[0] += ` "` + name + `"`
	}
	if t := OneLine(a.Type, 60); t != "" {
		parts = append(parts, t)
	}
	if a.Bytes > 0 {
		parts = append(parts, channels.SizeText(a.Bytes))
	}
	if a.Missing != "" {
		parts = append(parts, "not available: "+OneLine(a.Missing, 100))
	} else {
		parts = append(parts, "file "+a.File)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// spokenMark is what is before the words of a recording.
func spokenMark(a channels.Attachment) string {
	mark := cmp.Or(OneLine(string(a.Kind), 20), "recording")
	if a.Quoted {
		mark += " of the quoted message"
	}
	if a.Seconds > 0 {
		mark += fmt.Sprintf(", %d:%02d", a.Seconds/60, a.Seconds%60)
	}
	return "[" + mark + "] "
}

// EditNote is the transcript's note about an edit or a deletion that came too late
// to change the message itself.
func EditNote(m channels.Inbound) Message {
	who := senderLabel(m)
	var text string
	switch {
	case m.Deletes == channels.DeletedByAdmin:
		text = "[an admin deleted an earlier message of " + who + "]"
	case m.Deletes != "":
		text = "[" + who + " deleted an earlier message]"
	case strings.TrimSpace(m.Text) == "":
		text = "[" + who + " changed an earlier message to:] (no text)" // a picture that lost its caption
	default:
		text = "[" + who + " changed an earlier message to:] " + m.Text
	}
	return noteOf(m, text)
}

// ReplacedNote is the transcript's note that the sender of m replaced the distance messages
// before it. m itself is a message of its own, and comes after the note. Readers of the
// transcript see all of that. The model sees neither the note nor what was replaced.
func ReplacedNote(m channels.Inbound, distance int64) Message {
	note := noteOf(m, "["+senderLabel(m)+" wrote an earlier message anew: it and what followed no longer count]")
	note.Replaces = distance
	return note
}

// ReactionNote is the transcript's note about a reaction to an answer.
func ReactionNote(m channels.Inbound) Message {
	who := senderLabel(m)
	text := "[" + who + " reacted with " + OneLine(m.Reaction, 40) + " to an earlier message of yours"
	if m.Quote != nil && strings.TrimSpace(m.Quote.Text) != "" {
		text += `: "` + OneLine(m.Quote.Text, 120) + `"`
	}
	return noteOf(m, text+"]")
}

// senderLabel is the name of m's sender inside a bracketed note.
func senderLabel(m channels.Inbound) string {
	return cmp.Or(OneLine(m.Sender.Name, 60), "the sender")
}

// noteOf is a note about something that the sender of m did.
func noteOf(m channels.Inbound, text string) Message {
	return Message{
		Role: RoleUser, Content: text, Name: m.Sender.Name, Sender: m.Sender.ID(), At: m.At,
		Synthetic: true, Origins: TaintOf(m.Origins...).List(),
	}
}

// OneLine makes foreign text safe inside a bracketed label: one line, without
// brackets, at most most bytes.
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

// Printable removes characters that control a terminal or the direction of text,
// because names and messages come from strangers. Line breaks and tabs stay.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || unicode.Is(unicode.Bidi_Control, r):
			return -1
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029':
			return '·'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// clipBytes cuts s to at most most bytes and drops everything that is not UTF-8,
// including a character that the cut divided.
func clipBytes(s string, most int) string {
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

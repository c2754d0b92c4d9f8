package gateway

import (
	"fmt"

	"dragoman/channels"
	"dragoman/sessions"
)

// One answer may be fewParts messages, or more while they are short, like lines
// of IRC.
const (
	fewParts   = 20
	maxParts   = 200
	partsBytes = 64 << 10
	// shownParts are sent before the file with the whole answer.
	shownParts = 10
)

// fileName is that of the file with a whole answer.
const fileName = "answer.md"

// sayFile comes with the file; sayCutParts replaces the parts that are not sent.
const (
	sayFile     = "This answer is very long; this file has all of it."
	sayNoFile   = "(This answer is very long, and I may not send files here. Our conversation has all %s of it; ask me for the part that you need.)"
	sayCutParts = "(This answer is very long, and %s of it were not sent. Our conversation has all of it; ask me for the part that you need.)"
)

// split cuts a text with the label l into the replies that its network accepts. In private
// talk, and where answers take turns, every reply names the message that it
// answers, because some networks find the person by it. Among several people
// only the first reply quotes it.
func (g *Gateway) split(l sessions.Label, k channels.Key, text string, to channels.Inbound) []sessions.Reply {
	parts := []sessions.Reply{{Text: text}}
	if b := g.bindings[k.Channel()]; b != nil {
		if s, ok := b.Channel.(channels.Splitter); ok {
			if cut := s.Split(k, text); len(cut) > 0 {
				parts = b.limitParts(cut, text)
			}
		}
	}
	replies := make([]sessions.Reply, 0, len(parts))
	l.Parts = len(parts)
	for i, p := range parts {
		l.Part = i + 1
		l.File = p.File
		l.Form = p.Form
		r := sessions.Reply{Label: l, Key: k, Text: p.Text}
		if i == 0 || to.Private || g.interleaver(k) != nil {
			r.ReplyTo = to.MessageID
		}
		replies = append(replies, r)
	}
	return replies
}

// limitParts bounds the number of messages of one answer: the beginning and a
// file with the whole answer, or as much as fits.
func (b *binding) limitParts(pieces []channels.Piece, text string) []sessions.Reply {
	n, bytes := 0, 0
	for ; n < min(len(pieces), maxParts); n++ {
		bytes += len(pieces[n].Text)
		if n >= fewParts && bytes > partsBytes {
			break
		}
	}
	last := sessions.Reply{}
	switch _, files := b.Channel.(channels.Filer); {
	case n == len(pieces):
	case files:
		n = shownParts
		last.Text = text
		last.File = fileName
	default:
		left := 0
		for _, p := range pieces[n:] {
			left += len(p.Text)
		}
		last.Text = fmt.Sprintf(sayCutParts, size(left))
	}
	parts := make([]sessions.Reply, n, n+1)
	for i, p := range pieces[:n] {
		parts[i].Text = p.Text
		parts[i].Form = p.Form
	}
	if last.Text != "" {
		parts = append(parts, last)
	}
	return parts
}

// asFile makes o send the file that its label l names, if the channel sends files: the text
// of o, or a kept file.
func (b *binding) asFile(o *channels.Outbound, l sessions.Label) {
	_, able := b.Channel.(channels.Filer)
	switch {
	case !able:
	case hasCaption(l):
		o.File = &channels.File{Name: l.File, Kept: l.Kept, Kind: l.As, Instead: fmt.Sprintf("%s\n\n[%s %s]", o.Text, l.As, l.File)}
	case l.Kept != "":
		o.File = &channels.File{Name: l.File, Kept: l.Kept, Kind: l.As, Instead: o.Text}
		o.Text = ""
		o.Form = channels.FormMarkdown
	case l.File != "":
		o.File = &channels.File{Name: l.File, Content: o.Text, Instead: fmt.Sprintf(sayNoFile, size(len(o.Text)))}
		o.Text = sayFile
	}
}

// plain returns a text in k as readers outside of its network see it.
func (g *Gateway) plain(k channels.Key, text string, form channels.Form) string {
	if p, able := channelAs[channels.Plainer](g, k); able && form != channels.FormMarkdown {
		return p.Plain(text)
	}
	return text
}

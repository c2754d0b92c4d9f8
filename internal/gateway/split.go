package gateway

import (
	"fmt"
	"strings"

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

// fileMark begins a reply that is sent as a file. If a model writes it, its
// answer is sent as a file too.
const fileMark = "<!-- answer.md -->\n"

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
	parts := []string{text}
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
		r := sessions.Reply{Label: l, Key: k, Text: p}
		if i == 0 || to.Private || g.interleaver(k) != nil {
			r.ReplyTo = to.MessageID
		}
		replies = append(replies, r)
	}
	return replies
}

// limitParts bounds the number of messages of one answer: the beginning and a
// file with the whole answer, or as much as fits.
func (b *binding) limitParts(parts []string, text string) []string {
	n, bytes := 0, 0
	for ; n < min(len(parts), maxParts); n++ {
		bytes += len(parts[n])
		if n >= fewParts && bytes > partsBytes {
			break
		}
	}
	if n == len(parts) {
		return parts
	}
	if _, able := b.Channel.(channels.Filer); able {
		return append(parts[:shownParts:shownParts], fileMark+text)
	}
	left := 0
	for _, p := range parts[n:] {
		left += len(p)
	}
	return append(parts[:n:n], fmt.Sprintf(sayCutParts, size(left)))
}

func (b *binding) asFile(o *channels.Outbound) {
	content, marked := strings.CutPrefix(o.Text, fileMark)
	if _, able := b.Channel.(channels.Filer); able && marked {
		o.Text, o.File = sayFile, &channels.File{Name: "answer.md", Content: content, Instead: fmt.Sprintf(sayNoFile, size(len(content)))}
	}
}

package gateway

import (
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// How many messages one answer may be: fewParts, or more as long as they are
// short, as lines of IRC are.
const (
	fewParts   = 20
	mostParts  = 200
	partsBytes = 64 << 10
	// shownParts are sent before the file with the whole answer.
	shownParts = 10
)

// fileMark begins a reply that goes out as a file. A model that writes it gets
// its answer sent as one.
const fileMark = "<!-- answer.md -->\n"

// sayFile stands beside the file, sayCutParts in place of what is not sent.
const (
	sayFile     = "This answer is very long; this file has all of it."
	sayCutParts = "(This answer is very long, and %s of it were not sent. Our conversation has all of it; ask me for the part that you need.)"
)

// split cuts an answer into the replies that its network takes. In private
// talk all of them say which message they answer: some networks find the
// person by it, as do those where answers take turns. Elsewhere, among several people,
// only the first one hangs on it.
func (g *Gateway) split(k channels.Key, text string, to channels.Inbound) []sessions.Reply {
	parts := []string{text}
	if b := g.bindings[k.Channel()]; b != nil {
		if s, ok := b.Channel.(channels.Splitter); ok {
			if cut := s.Split(k, text); len(cut) > 0 {
				parts = b.bounded(cut, text)
			}
		}
	}
	replies := make([]sessions.Reply, 0, len(parts))
	for i, p := range parts {
		r := sessions.Reply{Key: k, Text: p}
		if i == 0 || to.Private || g.interleaver(k) != nil {
			r.ReplyTo = to.MessageID
		}
		replies = append(replies, r)
	}
	return replies
}

// bounded keeps the messages of one answer to a number that a person may want:
// the beginning and a file with all of it, or as much as fits.
func (b *binding) bounded(parts []string, text string) []string {
	n, bytes := 0, 0
	for ; n < min(len(parts), mostParts); n++ {
		if bytes += len(parts[n]); n >= fewParts && bytes > partsBytes {
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

// asFile makes o a file if it is one.
func (b *binding) asFile(o *channels.Outbound) {
	content, marked := strings.CutPrefix(o.Text, fileMark)
	if _, able := b.Channel.(channels.Filer); able && marked {
		o.Text, o.File = sayFile, &channels.File{Name: "answer.md", Content: content}
	}
}

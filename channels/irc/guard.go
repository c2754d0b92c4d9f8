package irc

import (
	"slices"
	"strings"
)

// guard begins a line of ours in a channel that other bots could take for a command: a
// word joiner, which is not seen. The model may repeat what a web page says, and our rights
// in a channel may be greater than its author's. A space would not do, because many bots
// cut it off.
const guard = "\u2060"

// commandSigns begin the commands of services and bots.
const commandSigns = "!.?@~"

// guarded returns text with a guard before a command sign at its beginning, also after
// spaces and formatting, which bots cut off too.
func guarded(text string) string {
	said := bare(text)
	if said == "" || !strings.Contains(commandSigns, said[:1]) {
		return text
	}
	return text[:len(text)-len(said)] + guard + said
}

// bare returns text without what bots cut off before they read it.
func bare(text string) string { return strings.TrimLeft(text, " "+styles+verbatim) }

// roomLines is [Channel.lines] for a channel: no line begins with a command sign, also
// where a long one was cut.
func (c *Channel) roomLines(whole []string, budget int) []line {
	for i := range whole {
		whole[i] = guarded(whole[i])
	}
	out := c.lines(whole, budget)
	if slices.ContainsFunc(out, func(l line) bool { return guarded(l.text) != l.text && len(l.text)+len(guard) > budget }) {
		out = c.lines(whole, budget-len(guard))
	}
	for i, l := range out {
		out[i] = l.guarded()
	}
	return out
}

func (l line) guarded() line {
	l.text = guarded(l.text)
	l.inBatch = guarded(l.inBatch)
	return l
}

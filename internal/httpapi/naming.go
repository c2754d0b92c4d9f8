package httpapi

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/sessions"
)

// How long a whole name and a part of one are, in characters, that texts are
// looked through for: shorter ones stand in everything by chance.
const (
	leastName = 2
	leastPart = 3
)

// calling are the words, in lower case, by which somebody may be called.
type calling []string

// newCalling makes of names how people are called by them: as a whole, and by
// each word with a letter in it ("Ann" of "Ann Smith").
func newCalling(names []string) (all calling) {
	for _, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		if utf8.RuneCountInString(name) >= leastName {
			all = append(all, name)
		}
		for _, part := range strings.FieldsFunc(name, func(r rune) bool { return !sessions.InWord(r) }) {
			if utf8.RuneCountInString(part) >= leastPart && strings.IndexFunc(part, unicode.IsLetter) >= 0 {
				all = append(all, part)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// in reports whether text calls somebody so, whatever its case.
func (c calling) in(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(c, func(word string) bool { return sessions.HasWord(text, word) })
}

// naming lists in p the facts, titles and summaries of the whole store that stay
// after it and call somebody by name, in order of their scopes and keys.
func (r *register) naming(p *Plan, called calling) {
	if len(called) == 0 {
		return
	}
	for _, scope := range slices.Sorted(maps.Keys(r.facts)) {
		for _, f := range r.facts[scope] {
			if !slices.Contains(p.Erasure.Scopes, scope) && called.in(f.Text) {
				p.Naming = append(p.Naming, Remembered{scope, f})
			}
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(r.chats), func(a, b channels.Key) int { return strings.Compare(a.String(), b.String()) }) {
		if slices.Contains(p.Erasure.Keys, k) {
			continue
		}
		c := r.chats[k]
		if called.in(c.title) {
			p.Titles = append(p.Titles, Titled{k, c.title})
		}
		for _, sum := range c.summaries {
			if !c.loses(sum, k.Channel(), p.Erasure.Senders) && called.in(sum.Text) {
				p.Summaries = append(p.Summaries, Summarised{k, sum.CoversSeq, sum.Text})
			}
		}
	}
}

// loses reports whether sum goes with what one of senders said in c, a
// conversation on channel.
func (c *heard) loses(sum sessions.Summary, channel string, senders []sessions.Sender) bool {
	return slices.ContainsFunc(senders, func(s sessions.Sender) bool {
		first, said := c.first[s.ID]
		return said && s.Channel == channel && first <= sum.CoversSeq
	})
}

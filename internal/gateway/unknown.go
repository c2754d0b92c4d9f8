package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/channels"
)

// longestCommand is how long the name of a command may be, in characters.
const longestCommand = 32

// commandName returns the name in word, if that looks like a command: a slash and one name.
// Paths, code and fractions have more than that. A regular expression for it would keep
// 0.7 MB, because each of its characters has all letters of the world.
func commandName(word string) (name string, ok bool) {
	name, ok = strings.CutPrefix(word, "/")
	if !ok || name == "" || utf8.RuneCountInString(name) > longestCommand {
		return "", false
	}
	for i, r := range name {
		inside := i > 0 && (unicode.IsNumber(r) || r == '_' || r == '-')
		if !unicode.IsLetter(r) && !inside {
			return "", false
		}
	}
	return name, true
}

// unknownCommand answers a command in the form of one that does not exist, as word. The
// model is not asked: it would guess.
func (g *Gateway) unknownCommand(ctx context.Context, m channels.Inbound, word string) (string, error) {
	list, err := g.commandsFor(ctx, m)
	if err != nil {
		return "", err
	}
	var known []string
	for _, c := range list {
		known = append(known, "/"+c.Name)
	}
	return fmt.Sprintf("There is no %s%s.%s I know: %s", g.commandSign(m.Key), word, g.meantBy(word), strings.Join(known, ", ")), nil
}

// notAsked is why a question that is a command is not asked, or "". Commands are for those
// who write in a chat: their answer is for them alone, and they may stop what others asked.
func (g *Gateway) notAsked(text string) string {
	word, is := parseCommand(text)
	switch {
	case !is:
		return ""
	case slices.ContainsFunc(g.offered(), func(c knownCommand) bool { return c.Name == word }):
		return fmt.Sprintf("/%s is a command, and this takes questions only; write it in the chat", word)
	}
	why := "there is no command /" + word
	if meant := g.meantBy(word); meant != "" {
		why += "." + meant
	}
	return why
}

// meantBy asks whether word was meant to be a command that exists, or is "".
func (g *Gateway) meantBy(word string) string {
	c := g.nearestCommand(word)
	if c == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean /%s?", c)
}

// offered are the commands that work with these settings.
func (g *Gateway) offered() (all []knownCommand) {
	for _, c := range commands {
		if c.Needs == nil || c.Needs(g) {
			all = append(all, c)
		}
	}
	return all
}

// commandsFor are those of the offered ones that the author of m may use in this chat, with
// what they do for them.
func (g *Gateway) commandsFor(ctx context.Context, m channels.Inbound) (all []channels.Command, err error) {
	change, err := g.mayChange(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("gateway: commands in %s: %w", m.Key, err)
	}
	for _, c := range g.offered() {
		may := true
		if c.May != nil {
			may, err = c.May(g, ctx, m)
		}
		if err != nil {
			return nil, fmt.Errorf("gateway: who may use /%s in %s: %w", c.Name, m.Key, err)
		}
		help := c.Help
		if !change {
			help = cmp.Or(c.Look, help)
		}
		if may {
			all = append(all, channels.Command{Name: c.Name, Help: help})
		}
	}
	return all, nil
}

func (g *Gateway) summarises() bool { return !g.summaries.Off() }
func (g *Gateway) hasLeaving() bool { return g.opts.Leaving != nil }
func (g *Gateway) hasChoice() bool  { return len(g.opts.Models()) > 1 }
func (g *Gateway) hasMemory() bool  { return g.opts.Memory != nil }
func (g *Gateway) asks() bool       { return g.opts.Actions != nil }

// nearestCommand is the command that word was probably meant to be, or "": it begins
// alike, or differs in about one letter of three.
func (g *Gateway) nearestCommand(word string) (best string) {
	most := utf8.RuneCountInString(word)/3 + 1
	least := 0
	for _, c := range g.offered() {
		n := lettersApart(word, c.Name)
		alike := len(word) >= 2 && strings.HasPrefix(c.Name, word) || strings.HasPrefix(word, c.Name)
		if (alike || n <= most && n < len(c.Name)-1) && (best == "" || n < least) {
			best = c.Name
			least = n
		}
	}
	return best
}

// lettersApart is how many letters to insert, remove or change makes b of a. Two letters
// that changed places count as one.
func lettersApart(a, b string) int {
	x, y := []rune(a), []rune(b)
	table := make([][]int, len(x)+1)
	for i := range table {
		table[i] = make([]int, len(y)+1)
		table[i][0] = i
	}
	for j := range table[0] {
		table[0][j] = j
	}
	for i := range x {
		for j := range y {
			n := table[i][j]
			if x[i] != y[j] {
				n++
			}
			n = min(n, table[i][j+1]+1, table[i+1][j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				n = min(n, table[i-1][j-1]+1)
			}
			table[i+1][j+1] = n
		}
	}
	return table[len(x)][len(y)]
}

package gateway

import (
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
func (g *Gateway) unknownCommand(k channels.Key, word string) string {
	var known []string
	for _, c := range g.commands() {
		known = append(known, "/"+c.Name)
	}
	return fmt.Sprintf("There is no %s%s.%s I know: %s", g.commandSign(k), word, g.meantBy(word), strings.Join(known, ", "))
}

// notAsked is why a question that is a command is not asked, or "". Commands are for those
// who write in a chat: their answer is for them alone, and they may stop what others asked.
func (g *Gateway) notAsked(text string) string {
	word, is := parseCommand(text)
	switch {
	case !is:
		return ""
	case slices.ContainsFunc(g.commands(), func(c channels.Command) bool { return c.Name == word }):
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

// commands are the offered ones as networks register them.
func (g *Gateway) commands() (all []channels.Command) {
	for _, c := range g.offered() {
		all = append(all, channels.Command{Name: c.Name, Help: c.Help})
	}
	return all
}

func (g *Gateway) summarises() bool { return !g.summaries.Off() }
func (g *Gateway) hasChoice() bool  { return len(g.opts.Models()) > 1 }
func (g *Gateway) hasMemory() bool  { return g.opts.Memory != nil }
func (g *Gateway) asks() bool       { return g.opts.Actions != nil }

// nearestCommand is the command that word was probably meant to be, or "": it begins
// alike, or differs in about one letter of three.
func (g *Gateway) nearestCommand(word string) (best string) {
	least := utf8.RuneCountInString(word)/3 + 1
	for _, c := range g.commands() {
		n := lettersApart(word, c.Name)
		if len(word) >= 2 && strings.HasPrefix(c.Name, word) || strings.HasPrefix(word, c.Name) {
			n = 0
		}
		if n <= least && n < len(c.Name)-1 {
			best = c.Name
			least = n - 1
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

package tinymodel

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// words splits a text roughly as GPT-2's tokenizer does: no token spans two
// words.
var words = regexp.MustCompile(` ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+`)

// byteChars are the characters for the 256 bytes in GPT-2's vocabulary. A byte
// without a printable character gets a letter above 255.
var byteChars = func() (table [256]string) {
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if shown := b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae; !shown {
			r = next
			next++
		}
		table[b] = string(r)
	}
	return table
}()

// toChars writes text in those characters.
func toChars(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteString(byteChars[text[i]])
	}
	return b.String()
}

// pair is two neighbouring tokens, which training may merge into one.
type pair struct{ left, right string }

// word is a distinct word of the corpus, and how often it occurs.
type word struct {
	parts []string
	n     int
}

// train returns the n most useful merges, best first. It is deterministic.
func train(corpus string, n int) []pair {
	list := distinct(corpus)
	var merges []pair
	for range n {
		best, ok := mostFrequent(list)
		if !ok {
			break
		}
		merges = append(merges, best)
		for i := range list {
			list[i].parts = join(list[i].parts, best)
		}
	}
	return merges
}

func distinct(corpus string) []word {
	counts := make(map[string]int)
	for _, w := range words.FindAllString(corpus, -1) {
		counts[w]++
	}
	list := make([]word, 0, len(counts))
	for text, n := range counts {
		w := word{n: n}
		for i := range len(text) {
			w.parts = append(w.parts, byteChars[text[i]])
		}
		list = append(list, w)
	}
	return list
}

// mostFrequent returns false if no pair occurs twice.
func mostFrequent(list []word) (pair, bool) {
	counts := make(map[pair]int)
	for _, w := range list {
		for i := 1; i < len(w.parts); i++ {
			counts[pair{w.parts[i-1], w.parts[i]}] += w.n
		}
	}
	var best pair
	most := 1
	for p, n := range counts {
		earlier := cmp.Or(cmp.Compare(p.left, best.left), cmp.Compare(p.right, best.right)) < 0
		if n > most || n == most && most > 1 && earlier {
			best, most = p, n
		}
	}
	return best, most > 1
}

func join(parts []string, p pair) []string {
	for i := 1; i < len(parts); i++ {
		if parts[i-1] == p.left && parts[i] == p.right {
			parts = slices.Replace(parts, i-1, i+1, p.left+p.right)
		}
	}
	return parts
}

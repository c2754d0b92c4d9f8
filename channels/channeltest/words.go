package channeltest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Place is where a word is in an answer. Networks may treat the words of some
// places differently.
type Place string

// The places that networks may treat differently.
const (
	Title      Place = "the title of a link"
	Language   Place = "the language of a code block"
	Definition Place = "the title in a definition of a link"
	Surplus    Place = "a cell beyond the head of a table in a list or a quote"
	Head       Place = "the head of a table"
	text       Place = "the text"
)

// But lists the places whose words a network does not show, and those whose words
// it shows earlier or later than they were written.
type But struct{ Lost, Moved []Place }

// Answer is Markdown in which no two words are alike.
type Answer struct {
	Markdown string
	words    []word
}

// word is a word of a random answer, and where in the Markdown it is. A test looks
// for it in what the network shows.
type word struct {
	text  string
	place Place
}

// NastyAnswers returns n random answers that use all of Markdown. The first ones
// are short.
func NastyAnswers(n int) []Answer {
	var answers []Answer
	for seed := range uint64(n) {
		w := &writer{Rand: rand.New(rand.NewPCG(seed, 54))}
		for range 1 + w.IntN(2+min(int(seed)/20, 10)) {
			between := w.one("\n", "\n", "\n\n", "\n\n", " ", "\n```\n", "\n---\n")
			if wrap := w.block(); between == " " && strings.Contains(wrap, "|") {
				between = "\n" // else the next block may be a surplus cell
			}
			w.WriteString(between)
		}
		answers = append(answers, Answer{w.String(), w.words})
	}
	return answers
}

// EveryWord checks that shown has every word of a, in order, except for but.
func (a Answer) EveryWord(t *testing.T, shown string, but But) {
	t.Helper()
	all := signs(shown)
	rest := all
	for _, w := range a.words {
		switch _, after, found := strings.Cut(rest, w.text); {
		case slices.Contains(but.Lost, w.place):
		case found && !slices.Contains(but.Moved, w.place):
			rest = after
		case !strings.Contains(all, w.text):
			t.Errorf("%.9s in %s is not shown; %.2000q is shown as %.2000q", w.text, w.place, a.Markdown, shown)
			return
		case !slices.Contains(but.Moved, w.place):
			t.Errorf("%.9s in %s is shown too early; %.2000q is shown as %.2000q", w.text, w.place, a.Markdown, shown)
			return
		}
	}
}

// signs leaves letters and digits: a word may be cut where a line or a message ends.
func signs(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

// writer writes an answer.
type writer struct {
	*rand.Rand
	strings.Builder
	words []word
	links int
}

func (w *writer) one(of ...string) string { return of[w.IntN(len(of))] }

// wraps is the markup around words: %s is a few words, %2 two in one line, %t the title of a
// link, %l a language, %d the title in a definition, %h a cell of a table's head,
// %+ a cell beyond it in a list or a quote, and %r the name of a link.
var wraps = []string{
	"%s", "**%s**", "*%s*", "__%s__ _%s_", "***%s", "**%s *%s* %s**", "`%s`", "``%s ` %s``", "~~%s~~", "%s*%s*%s **%s", "`%s", "[%s", "[%s](%s", "~~~%2~~~",
	"# %s", "### %s ###", "%s\n---", "%s\n===", "> %s", "> %s\n> > %s\n%s", "- %s", "7. %s", "- %s\n  - %s\n    1. %s\n\n  %s\n- %s", "* %s\n\n      %s\n\t%s",
	"1. %s\n   > %s\n   > - %s\n2. %s", "> - %s\n>   %s\n> 1) %s", "- [ ] %s", "- [x] %s\n  %s", "-\n  %s", "- - - %s", "1984. %s", "+ %s\n* %s",
	"[%s](https://a.example/b)", "[`%s`](https://a.example/b)", "![%s](x)", "[%s](javascript:x)", "[a **%s**](<https://a.example/b c>) %s", "[%s](see %s)", "[[%s](https://a.example)](https://b.example)",
	"[%s](https://a.example \"%t\") %s", "![%s](https://a.example '%t')", "[a](http://x \"%t\")", "[%s](https://a.example (%t))", "[%s]: http://x", "[%s]: %s",
	"[%s][%r]\n\n[%r]: https://a.example/b \"%d\"", "[%r]: <https://a.example/b>\n%s [%r] %s", "%s[^1]\n\n[^1]: %s", "<https://a.example/b> %s https://a.example/_b_ %s",
	"<b>%s</b>", "%s<br>%s<BR />\n%s", "<br>\n%s", "|%h|%h|\n|-|-|\n|%s<br>%s|%s|", "<!-- %s -->", "<!-- %s\n\n%s -->\n%s", "<div>\n%s\n</div>\n%s", "<script>\n%s\n\n%s</script> %s", "<details>\n<summary>%s</summary>\n\n%s\n</details>", "<details open><summary>%s</summary>%s</details>",
	"<%s", "a<%s>b", "&lt;%s&gt; &amp;%s; &#60;%s", "\\*%s\\* \\_%s \\`%s\\` \\[%s\\](%s) \\# %s\\", "%s\\\n%s  \n%s", "    %s", "\t%s", "%s\t%s\n\t\t%s", "$$%s$$ \\(%s\\) ||%s||",
	"|%h|%h|\n|-|-|\n|%s|%s|", "%s\n%s\n|%h|%h|\n|:-|-:|\n|%s|%s|\n---\n%s", "%h | %h\n--|--\n%s | %s\n%s\n\n%s", "|%h|\n|-|\n|%s|%s|%s|\n|\n|`%s`|", "%s | %s\n---\n%s", "%s\n%s|%s|%s\n-|-\n%s", "%h|%h\n-|-\n|" + strings.Repeat("%s|", 40),
	"- %s\n|%h|%h|\n|-|-|\n|%s|%s|", "- %s\n\n  |%h|%h|\n  |-|-|\n  |%s|%s|%+|", "> |%h|%h|\n> |-|-|\n> |%s|%s|%+|", "|%h|a \\| %h|\n|-|-|\n|%s \\| %s|**%s**|", "|a|%h %h %h|\n|-|-|\n|%s|%s %s %s|",
	"```%2\n%s", "``` %2", "~~~ js %s\n%s\n~~~", "````\n%s\n```\n%s", "  ```\n  %s\n  ```", "> ```\n> %s\n%s", "- ```\n  %s\n%s", "```go\n%s\n\n\t%s", "```%l\n%s\n%s\n```", "```\n%s\n\n```\n%s",
	"```%2``` %s", "1. %s\n   ```%l\n   %s\n   %s\n   ```\n2. %s", "%s ```\n%s\n```", "%s\n```%2\n```",
}

// block writes one wrap with its words, and returns the wrap.
func (w *writer) block() (whole string) {
	whole = w.one(wraps...)
	wrap := whole
	n := 1 + w.IntN(4)
	if w.IntN(12) == 0 && strings.Count(wrap, "%") < 20 {
		n = 900 + w.IntN(1500) // more than a message
	}
	w.links++
	for {
		before, after, found := strings.Cut(wrap, "%")
		w.WriteString(before)
		if !found {
			return whole
		}
		kind := after[0]
		wrap = after[1:]
		switch place := map[byte]Place{'s': text, '2': text, 't': Title, 'l': Language, 'd': Definition, 'h': Head, '+': Surplus}[kind]; {
		case kind == 'r':
			fmt.Fprintf(w, "R%d", w.links)
		case kind == '2':
			w.say(text, 1, false)
			w.WriteString(" ")
			w.say(text, 1, false)
		case place == text:
			w.say(place, n, !strings.Contains(whole, "|"))
		default:
			w.say(place, 1, false)
		}
	}
}

// say writes n words. A long word is longer than a message. Tables get none,
// because their head would be repeated inside it.
func (w *writer) say(place Place, n int, mayBeLong bool) {
	between := " "
	if n > 4 && w.IntN(2) == 0 {
		between = "\n"
	}
	for i := range n {
		if i > 0 {
			w.WriteString(between)
		}
		long := ""
		if mayBeLong && w.IntN(200) == 0 {
			long = strings.Repeat("o", 5000)
		}
		s := fmt.Sprintf("w%d%sx", len(w.words), long)
		w.words = append(w.words, word{s, place})
		w.WriteString(s)
	}
}

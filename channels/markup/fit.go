package markup

import (
	"strings"

	"github.com/rivo/uniseg"
)

// maxFence is kept free where a part of a line may turn out to open a code block.
const maxFence = 33

// fitting returns how many bytes of line make at most most units, cut at a good place.
// It cuts through a grapheme only if that alone is too long.
func (r Ruler) fitting(line string, most int) int {
	var spaces []int
	end, size := 0, 0
	for rest, state := line, -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if size += r.units(cluster); size > most {
			if end == 0 {
				return r.runesWithin(cluster, most)
			}
			break
		}
		if end += len(cluster); cluster == " " {
			spaces = append(spaces, end)
		}
	}
	for i := len(spaces) - 1; i >= 0 && spaces[i] > end/2; i-- {
		if !inMarkup(line[:spaces[i]]) {
			return spaces[i]
		}
	}
	return end
}

// runesWithin returns how many bytes of s make at most most units, at least one rune.
func (r Ruler) runesWithin(s string, most int) int {
	size := 0
	for i, c := range s {
		if size += r.unit(c); size > most && i > 0 {
			return i
		}
	}
	return len(s)
}

// inMarkup reports whether text ends inside [words](address) or `code`, where a cut would
// break the markup.
func inMarkup(text string) bool {
	if strings.Count(text, "`")%2 == 1 {
		return true
	}
	open := strings.LastIndexByte(text, '[')
	if open < 0 || len(text)-open > 400 {
		return false
	}
	after := text[open:]
	address := strings.Index(after, "](")
	if address < 0 {
		return !strings.Contains(after, "]")
	}
	return !strings.Contains(after[address:], ")")
}

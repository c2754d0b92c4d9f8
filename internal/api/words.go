package api

import (
	"strings"
	"unicode"
)

// firstWords is the beginning of text as plain words, without its quotations and the signs
// of Markdown, about size bytes, cut between words if possible.
func firstWords(text string, size int) string {
	for strings.HasPrefix(text, ">") {
		_, text, _ = strings.Cut(text, "\n")
	}
	if len(text) > 4*size {
		text = strings.ToValidUTF8(text[:4*size], "")
	}
	words := strings.Join(strings.Fields(withoutSigns(text)), " ")
	if len(words) <= size {
		return words
	}
	cut := strings.ToValidUTF8(words[:size], "")
	if i := strings.LastIndexByte(cut, ' '); i > size/2 {
		cut = cut[:i]
	}
	return cut + "…"
}

// withoutSigns takes from text what Markdown would not show. It looks at signs alone, so
// that a line of a list is cheap: a lone * or _ between words or inside of one stays.
func withoutSigns(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(line, " \t")
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			b.WriteByte('\n')
			continue
		}
		b.WriteString(withoutEmphasis(withoutTargets(withoutMark(line))))
	}
	return b.String()
}

// withoutMark takes the sign of a heading, an item or a quotation from the beginning of a
// line.
func withoutMark(line string) string {
	sign, rest, found := strings.Cut(line, " ")
	if found && (sign == "-" || sign == "*" || sign == "+" || sign == ">" || strings.Trim(sign, "#") == "") {
		return rest
	}
	return line
}

// withoutTargets leaves of a link, [words](address), its words.
func withoutTargets(line string) string {
	for {
		middle := strings.Index(line, "](")
		if middle < 0 {
			return line
		}
		begin := strings.LastIndexByte(line[:middle], '[')
		end := strings.IndexByte(line[middle:], ')')
		if begin < 0 || end < 0 {
			return line
		}
		before := strings.TrimSuffix(line[:begin], "!")
		line = before + line[begin+1:middle] + line[middle+end+1:]
	}
}

// withoutEmphasis takes out ** and `, and * and _ at the edge of a word.
func withoutEmphasis(line string) string {
	var b strings.Builder
	runes := []rune(line)
	at := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return ' '
		}
		return runes[i]
	}
	for i, r := range runes {
		doubled := at(i-1) == r || at(i+1) == r
		edge := isWordRune(at(i-1)) != isWordRune(at(i+1))
		switch {
		case r == '`', (r == '*' || r == '~') && doubled, (r == '*' || r == '_') && edge:
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

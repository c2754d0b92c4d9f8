package gateway

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/internal/lazily"
)

// fenceLine matches a line that opens a code block, perhaps in a list or a quote.
var fenceLine = lazily.Compile("^((?:[ \\t]*(?:[-*+]|[0-9]{1,9}[.)]|>)[ \\t]+|[ \\t]+)*)(`{3,}|~{3,})")

// listSign matches what begins an item of a list.
var listSign = lazily.Compile(`[-*+]|[0-9]+[.)]`)

// closeMarkup ends the code, the bold text and so on in which text breaks off. Without
// that, what follows would be code too, or the marks would be shown.
func closeMarkup(text string) string {
	open := "" // the fence of the code block, and what stands before it
	before := ""
	paragraph := 0 // where the last one begins
	at := 0
	for line := range strings.Lines(text) {
		at += len(line)
		m := fenceLine.Regexp().FindStringSubmatch(line)
		bare := strings.Trim(line, " \t\r\n>")
		switch {
		case open != "" && strings.HasPrefix(bare, open) && strings.Trim(bare, open[:1]) == "":
			open = ""
			paragraph = at
		case open != "":
		case m != nil && !(m[2][0] == '`' && strings.Contains(line[len(m[0]):], "`")):
			before = listSign.Regexp().ReplaceAllStringFunc(m[1], func(sign string) string { return strings.Repeat(" ", len(sign)) })
			open = m[2]
		case bare == "":
			paragraph = at
		}
	}
	if open != "" {
		return text + "\n" + before + open
	}
	ends := openMarks(text[paragraph:])
	if ends == "" {
		return text
	}
	return strings.TrimRight(text, " \t\n") + ends
}

// markChars begin and end styled text and code in a line.
const markChars = "`*_~"

// openMarks returns what closes the marks that are open at the end of a paragraph.
func openMarks(text string) (ends string) {
	var open []string
	for i := 0; i < len(text); {
		if text[i] == '\\' {
			i += 2
			continue
		}
		if strings.IndexByte(markChars, text[i]) < 0 {
			i++
			continue
		}
		run := text[i : len(text)-len(strings.TrimLeft(text[i:], text[i:i+1]))]
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(run):])
		i += len(run)
		top := len(open) - 1
		switch {
		case run[0] == '`':
			end := codeEnd(text[i:], run)
			if end < 0 {
				return run + closing(open)
			}
			i += end
		case slices.Contains(open, run) && !unicode.IsSpace(before):
			for open[top] != run {
				top--
			}
			open = open[:top]
		case opensStyle(run, i == len(run), before, after):
			open = append(open, run)
		}
	}
	return closing(open)
}

// codeEnd returns how many bytes of text belong to the code that run has opened, or -1.
func codeEnd(text, run string) int {
	for i := 0; i < len(text); i++ {
		same := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		if same == len(run) {
			return i + same
		}
		i += same
	}
	return -1
}

// opensStyle reports whether run, marks between two characters, begins styled text.
func opensStyle(run string, first bool, before, after rune) bool {
	if len(run) > 3 || run == "~" || after == utf8.RuneError || unicode.IsSpace(after) {
		return false
	}
	inWord := !first && (unicode.IsLetter(before) || unicode.IsDigit(before))
	return !inWord || run == "**" && !unicode.IsDigit(before)
}

// closing closes open, the innermost first.
func closing(open []string) string {
	var b strings.Builder
	for _, mark := range slices.Backward(open) {
		b.WriteString(mark)
	}
	return b.String()
}

package markup

import (
	"strings"

	"dragoman/internal/lazily"
)

// fence is a code block in Markdown: how it was opened, so that it can be closed
// and opened again where a text is cut.
type fence struct {
	indent int
	mark   string // ``` or more, or ~~~
	info   string
	// reopened: the block continues at the start of a piece, outside the list that
	// its indentation belonged to.
	reopened bool
}

func (f *fence) open() string  { return f.mark + f.info }
func (f *fence) close() string { return f.mark }

// Longer marks are legal Markdown, but no model writes them.
var fencePattern = lazily.Compile("^([ \\t]*)(`{3,32}|~{3,32})([^`~].*)?$")

// fenceOf returns the code block that line opens, or nil.
func fenceOf(line string) *fence {
	m := fencePattern.Regexp().FindStringSubmatch(line)
	if m == nil || m[2][0] == '`' && strings.Contains(m[3], "`") {
		return nil
	}
	return &fence{indent: len(m[1]), mark: m[2], info: infoOf(m[3])}
}

// closes needs a mark at least as long as the one that opened the block, and
// nothing after it.
func (f *fence) closes(line string) bool {
	m := fencePattern.Regexp().FindStringSubmatch(line)
	return m != nil && strings.TrimSpace(m[3]) == "" && strings.HasPrefix(m[2], f.mark)
}

var languagePattern = lazily.Compile(`^[A-Za-z0-9_+#.-]{1,32}$`)

// isLanguage reports whether the text after a fence names a language. Otherwise it is
// part of the answer.
func isLanguage(info string) bool { return languagePattern.Regexp().MatchString(info) }

// infoOf returns the language of a code block, "" if there is none.
func infoOf(info string) string {
	info = strings.TrimSpace(info)
	if isLanguage(info) {
		return info
	}
	return ""
}

// trimPiece joins lines to a piece. It returns "" if nothing in them is visible: only
// white space or, if the first line repeats a fence from the piece before, an empty code
// block.
func trimPiece(lines []string, repeated bool) string {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines, repeated = lines[1:], false
	}
	if len(lines) == 0 {
		return ""
	}
	if f := fenceOf(lines[0]); f != nil {
		lines = flatten(lines, f)
		shows := !repeated && strings.TrimLeft(strings.TrimSpace(lines[0]), "`~") != ""
		for _, l := range lines[1:] {
			shows = shows || strings.TrimSpace(l) != "" && !f.closes(l)
		}
		if !shows {
			return ""
		}
	}
	return listAtStart.Regexp().ReplaceAllString(strings.TrimRight(strings.Join(lines, "\n"), "\n"), "$1")
}

// flatten removes the indentation of a code block at the start of a piece, where the list
// it belonged to is missing.
func flatten(lines []string, f *fence) []string {
	flat := append([]string(nil), lines...)
	for i := range flat {
		flat[i] = dedent(flat[i], f.indent)
		if i > 0 && f.closes(flat[i]) {
			break
		}
	}
	return flat
}

// listAtStart matches an indented list item, which would become code without the items
// above it.
var listAtStart = lazily.Compile(`^ {4,}((?:[-*+]|[0-9]{1,9}[.)]) )`)

func dedent(line string, n int) string {
	for n > 0 && line != "" && (line[0] == ' ' || line[0] == '\t') {
		line, n = line[1:], n-1
	}
	return line
}

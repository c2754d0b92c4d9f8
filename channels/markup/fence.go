package markup

import (
	"strings"

	"dragoman/internal/lazily"
)

// fence is an open code block.
type fence struct {
	indent int
	mark   string // ``` or more, or ~~~
	info   string
	// reopened says that the block goes on at the start of a piece, without
	// the list that its indentation belonged to.
	reopened bool
}

func (f *fence) open() string  { return f.mark + f.info }
func (f *fence) close() string { return f.mark }

// Longer marks are legal Markdown and written by nobody.
var fenceForm = lazily.Compile("^([ \\t]*)(`{3,32}|~{3,32})([^`~].*)?$")

// fenceOf is the code block that line opens, or nil.
func fenceOf(line string) *fence {
	m := fenceForm.Regexp().FindStringSubmatch(line)
	if m == nil || m[2][0] == '`' && strings.Contains(m[3], "`") {
		return nil
	}
	return &fence{indent: len(m[1]), mark: m[2], info: infoOf(m[3])}
}

// closes reports whether line ends the block.
func (f *fence) closes(line string) bool {
	m := fenceForm.Regexp().FindStringSubmatch(line)
	return m != nil && strings.TrimSpace(m[3]) == "" && strings.HasPrefix(m[2], f.mark)
}

var languageForm = lazily.Compile(`^[A-Za-z0-9_+#.-]{1,32}$`)

// isLanguage reports whether what follows a fence names a language; else it is
// text.
func isLanguage(info string) bool { return languageForm.Regexp().MatchString(info) }

// infoOf is the language of a code block, short enough to repeat.
func infoOf(info string) string {
	if info = strings.TrimSpace(info); isLanguage(info) {
		return info
	}
	return ""
}

// trimPiece joins lines to a piece, or "" if nothing in them shows: only
// white space, or, if the first line was repeated from the piece before, a code
// block of nothing else.
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

// flatten takes the indentation off a code block at the start of a piece,
// where there is no list any more that it could belong to.
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

// listAtStart is a list item whose indentation would make it code once the
// items above it are in another piece.
var listAtStart = lazily.Compile(`^ {4,}((?:[-*+]|[0-9]{1,9}[.)]) )`)

func dedent(line string, n int) string {
	for n > 0 && line != "" && (line[0] == ' ' || line[0] == '\t') {
		line, n = line[1:], n-1
	}
	return line
}

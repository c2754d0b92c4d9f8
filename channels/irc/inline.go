package irc

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/channels/markup"
)

// Bounds that keep hostile marks ("*a *a *a …") from costing more than their
// length: how far a closing one is looked for, and how deep they nest.
const (
	maxCode     = 16 << 10
	maxEmphasis = 2048
	maxNesting  = 4
)

// inline appends what the Markdown s looks like, on top of style st.
func inline(s string, st style, out []cell, depth int) []cell {
	plain := 0 // s[plain:i] is text that waits to be appended
	flush := func(to int) {
		out = cellsOf(s[plain:to], st, out)
	}
	for i := 0; i < len(s); {
		shown, n := span(s, i, st, depth)
		if n == 0 {
			i++
			continue
		}
		flush(i)
		out = append(out, shown...)
		i += n
		plain = i
	}
	flush(len(s))
	return out
}

// span renders the markup that begins at s[i] and says how many bytes it
// takes, 0 if none begins there.
func span(s string, i int, st style, depth int) ([]cell, int) {
	switch c := s[i]; {
	case c == '\\' && i+1 < len(s) && isPunct(s[i+1]):
		return cellsOf(s[i+1:i+2], st, nil), 2
	case c == '`':
		return codeSpan(s, i, st)
	case c == '!' && i+1 < len(s) && s[i+1] == '[':
		if cells, n := link(s[i+1:], st, depth); n > 0 {
			return cells, n + 1
		}
		return cellsOf("!", st, nil), 1
	case c == '[':
		return link(s[i:], st, depth)
	case c == '<':
		if n := markup.Break(s[i:]); n > 0 {
			return cellsOf(" ", st, nil), n
		}
		if end := strings.IndexByte(s[i:], '>'); end > 0 && isURL(s[i+1:]) && !strings.Contains(s[i:i+end], " ") {
			return cellsOf(s[i+1:i+end], st, nil), end + 1
		}
	case c == 'h' && isURL(s[i:]):
		n := urlLen(s[i:])
		return cellsOf(markup.Unescape(s[i:i+n]), st, nil), n
	case times(s, i):
		n := runLen(s[i:], c)
		return cellsOf(s[i:i+n], st, nil), n
	case (c == '*' || c == '_' || c == '~') && depth < maxNesting:
		return emphasis(s, i, st, depth)
	case c == '*' || c == '_' || c == '~':
		n := runLen(s[i:], c)
		return cellsOf(s[i:i+n], st, nil), n
	}
	return nil, 0
}

// codeSpan keeps its backticks in sight: people on IRC write them themselves,
// and many clients show the monospace code as garbage.
func codeSpan(s string, i int, st style) ([]cell, int) {
	n, end := codeEnd(s, i)
	if end == 0 {
		return cellsOf(s[i:i+n], st, nil), n
	}
	code := s[i+n : end-n]
	if t := strings.Trim(code, " "); t != "" && n > 1 {
		code = t
	}
	return cellsOf("`"+code+"`", st|code1, nil), end - i
}

// codeEnd is how many backticks stand at s[i], and where the span that they
// begin ends; 0 if they begin none.
func codeEnd(s string, i int) (n, end int) {
	n = runLen(s[i:], '`')
	for j := i + n; ; {
		next := strings.IndexByte(s[j:min(len(s), max(j, i+maxCode))], '`')
		if next < 0 {
			return n, 0
		}
		j += next
		m := runLen(s[j:], '`')
		if m == n {
			if strings.TrimSpace(s[i+n:j]) == "" {
				return n, 0
			}
			return n, j + m
		}
		j += m
	}
}

// link renders [text](url) as "text (url)", and only the address where the
// text says the same.
func link(s string, st style, depth int) ([]cell, int) {
	if depth >= maxNesting {
		return nil, 0
	}
	end := closing(s, '[', ']')
	if end < 0 || end+1 >= len(s) || s[end+1] != '(' {
		return nil, 0
	}
	url, n := linkTarget(s[end+1:])
	if n == 0 {
		return nil, 0
	}
	text := inline(s[1:end], st, nil, depth+1)
	switch said := strings.TrimSpace(textOf(text)); {
	case said == "" || said == url || "http://"+said == url || "https://"+said == url || "mailto:"+said == url:
		return cellsOf(url, st, nil), end + 1 + n
	}
	text = cellsOf(" (", st, text)
	text = cellsOf(url, st, text)
	return cellsOf(")", st, text), end + 1 + n
}

// closing is where the bracket ends that s begins with, or -1.
func closing(s string, open, shut byte) int {
	depth := 0
	for j := 0; j < min(len(s), maxEmphasis); j++ {
		switch s[j] {
		case '\\':
			j++
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return j
			}
		}
	}
	return -1
}

// linkTarget reads `(url)` or `(url "title")` and says how many bytes that took.
func linkTarget(s string) (url string, n int) {
	end := closing(s, '(', ')')
	if end < 0 {
		return "", 0
	}
	url, title, _ := strings.Cut(strings.Trim(s[1:end], " "), " ")
	url, title = markup.Unescape(strings.Trim(url, "<>")), strings.TrimLeft(title, " ")
	if url == "" || title != "" && !strings.ContainsAny(title[:1], `"'(`) { // words, and no title
		return "", 0
	}
	return url, end + 1
}

// emphasis renders *italic*, **bold** and ***both***, also with underscores
// outside of words, and ~~struck~~. A run of marks that emphasises nothing is text.
func emphasis(s string, i int, st style, depth int) ([]cell, int) {
	ch := s[i]
	n := runLen(s[i:], ch)
	k := min(n, 3)
	text := func() ([]cell, int) { return cellsOf(s[i:i+n], st, nil), n }
	next, _ := utf8.DecodeRuneInString(s[i+n:])
	if i+n >= len(s) || unicode.IsSpace(next) || n > 3 || ch == '_' && wordBefore(s, i) || ch == '~' && n != 2 {
		return text()
	}
	end := closer(s, i+n, ch, k)
	if end < 0 {
		return text()
	}
	add := [...]style{1: italic, 2: bold, 3: bold | italic}[k]
	if ch == '~' {
		add = struck
	}
	return inline(s[i+n:end], st|add, nil, depth+1), end + k - i
}

// closer finds where the k marks stand that end an emphasis begun before from.
func closer(s string, from int, ch byte, k int) int {
	most := min(len(s), from+maxEmphasis)
	for j := from; j < most; {
		switch {
		case s[j] == '\\':
			j += 2
		case s[j] == '`':
			n, end := codeEnd(s, j)
			j = max(j+n, end)
		case s[j] == 'h' && isURL(s[j:]):
			j += urlLen(s[j:])
		case times(s, j):
			j += runLen(s[j:], '*')
		case s[j] == ch:
			m := runLen(s[j:], ch)
			before, _ := utf8.DecodeLastRuneInString(s[:j])
			fits := m == k || k == 1 && m == 3 || k == 2 && m > 2
			if fits && j > from && !unicode.IsSpace(before) && (ch != '_' || !wordAt(s, j+m)) {
				return j + m - k
			}
			j += m
		default:
			j++
		}
	}
	return -1
}

// times reports whether the stars at s[i], if there are any, multiply.
func times(s string, i int) bool {
	n := runLen(s[i:], '*')
	return n > 0 && i > 0 && i+n < len(s) && markup.Times(rune(s[i-1]), n, rune(s[i+n]))
}

func wordBefore(s string, i int) bool {
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return i > 0 && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

func wordAt(s string, i int) bool {
	if i >= len(s) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func runLen(s string, ch byte) int {
	n := 0
	for n < len(s) && s[n] == ch {
		n++
	}
	return n
}

func isURL(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// urlLen is how far an address reaches in which underscores are only
// underscores. Stars end it, since models write **https://example.org**.
func urlLen(s string) int {
	if n := strings.IndexAny(s, " <>`*"); n >= 0 {
		return n
	}
	return len(s)
}

func isPunct(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}

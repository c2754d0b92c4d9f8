// Package output reads what models write. It separates the text for people from
// thoughts, from template marks, and from tool calls that a server left in the text.
//
// The promise: thoughts that are marked in a known way are never shown, nor is what a
// model writes after the end of its turn. Text that only mentions such marks is kept:
// in code, and in a sentence with spaces or quotes around them. While an answer
// streams, text is held back until its meaning is clear. There is one exception:
// thoughts whose begin mark is in the template, so that the answer has only an end
// mark, are returned at first and then taken back. That is why package agent shows
// nothing of a model's first answer until its end mark, if any, has come.
//
// Nothing here returns errors or starts goroutines.
package output

import (
	"slices"
	"strings"
	"unicode"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// Answer is the content of a whole answer.
type Answer struct {
	// Text is for people. It is "" if it has no visible characters.
	Text string
	// Calls are tool calls that were written as text. They have no ids.
	Calls []sessions.ToolCall
	// Thought says that the answer contained thoughts.
	Thought bool
	// UnmarkedThoughts says that their beginning was not marked: see
	// [Reader.ExpectThoughts].
	UnmarkedThoughts bool
}

// Reader reads one answer, piece by piece. Its zero value is ready. It is not safe
// for concurrent use.
type Reader struct {
	// Tool reports whether a tool exists, so that text may call it. Nil: text is
	// never a call.
	Tool func(name string) bool
	// ExpectThoughts says that the answer begins with thoughts that have an end mark
	// only, as the model's last answer did: nothing is shown until they end.
	ExpectThoughts bool

	raw strings.Builder
	at  int // how much of raw has been read
	out strings.Builder
	// until, if not nil, are the marks that end the current thoughts. raw was
	// searched for them up to seen.
	until   []string
	seen    int
	fence   string         // fence of the open code block
	open    map[string]int // mentioned marks that are not closed, by their closing mark
	channel bool           // a message of harmony has just begun or ended
	ended   bool           // the rest belongs to another turn
	failed  int            // call marks without a call
	read    Answer
}

// Read reads a whole answer.
func Read(content string, tool func(name string) bool) Answer {
	r := Reader{Tool: tool}
	r.raw.WriteString(content)
	return r.End()
}

// Add reads the next piece and returns everything that may be shown so far. It begins
// with what Add returned before, unless thoughts are taken back.
func (r *Reader) Add(piece string) string {
	r.raw.WriteString(piece)
	r.scan(false)
	return r.out.String()
}

// Thought reports whether thoughts have ended in the text so far.
func (r *Reader) Thought() bool { return r.read.Thought }

// End returns the content of the whole answer.
func (r *Reader) End() Answer {
	r.scan(true)
	r.read.Text = strings.TrimSpace(strings.ToValidUTF8(r.out.String(), "\uFFFD"))
	if Blank(r.read.Text) {
		r.read.Text = ""
	}
	return r.read
}

// Blank reports whether s has no visible characters: only spaces of all widths, and
// runes without width.
func Blank(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool {
		switch c {
		case '\u2800', '\u3164', '\u115F', '\u1160', '\uFFA0': // blanks that Unicode counts as letters or signs
			return false
		}
		return !unicode.IsSpace(c) && !unicode.Is(unicode.Cf, c) && !unicode.IsControl(c) && !unicode.Is(unicode.Mn, c)
	})
}

// isSpecial marks the bytes at which scan looks closer.
var isSpecial = func() (t [256]bool) {
	for _, c := range "<[`~{\x7f\xc2" {
		t[byte(c)] = true
	}
	t[0xc2] = true
	for c := range 0x20 {
		t[c] = c != '\n' && c != '\t'
	}
	return t
}()

// scan reads as far as it can. final says that the answer is complete.
func (r *Reader) scan(final bool) {
	raw := r.raw.String()
	for r.at < len(raw) && !r.ended {
		switch {
		case r.until != nil:
			if !r.skipThoughts(raw, final) {
				return
			}
			continue
		case r.ExpectThoughts:
			if !r.skipUnmarkedThoughts(raw, final) {
				return
			}
			continue
		}
		end := r.at
		for end < len(raw) && !isSpecial[raw[end]] {
			end++
		}
		r.show(raw[r.at:end])
		r.at = end
		if end == len(raw) {
			return
		}
		if !r.special(raw, final) {
			return
		}
	}
}

// show adds text for people. Leading white space is dropped.
func (r *Reader) show(s string) {
	if r.out.Len() == 0 {
		s = strings.TrimLeft(s, " \t\r\n")
	}
	if s != "" {
		r.channel = false
		r.out.WriteString(s)
	}
}

// special reads what begins at a special byte. It returns false if more text is
// needed.
func (r *Reader) special(raw string, final bool) bool {
	rest := raw[r.at:]
	if r.out.Len() == 0 && r.fence == "" {
		// A model may imitate the time stamps of user messages.
		n, partly := window.StampIn(rest)
		if partly && !final {
			return false
		}
		if n > 0 {
			return r.skip(n)
		}
	}
	switch c := rest[0]; {
	case c == '`' || c == '~':
		return r.code(raw, final)
	case c < 0x20 || c == 0x7f:
		return r.skip(1) // a terminal must not get it
	case c == 0xc2:
		if len(rest) == 1 && !final {
			return false
		}
		if len(rest) > 1 && rest[1] >= 0x80 && rest[1] < 0xa0 {
			return r.skip(2)
		}
	case r.fence != "":
	case c == '{':
		if r.out.Len() == 0 && r.Tool != nil && r.read.Calls == nil {
			return r.bareCall(raw, final)
		}
	default:
		m, partly := markAt(rest)
		if m != nil {
			return r.mark(raw, m, final)
		}
		if partly && !final {
			return false
		}
	}
	return r.keep(raw, 1)
}

// skip drops the next n bytes of raw; keep shows them.
func (r *Reader) skip(n int) bool {
	r.at += n
	return true
}

func (r *Reader) keep(raw string, n int) bool {
	r.show(raw[r.at : r.at+n])
	return r.skip(n)
}

// code reads a fence or a run of backticks: everything in code is text.
func (r *Reader) code(raw string, final bool) bool {
	rest := raw[r.at:]
	run := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	if run == len(rest) && !final {
		return false // the run may become longer
	}
	line, _, whole := strings.Cut(rest[run:min(len(rest), run+longestSpan)], "\n")
	whole = whole || final || len(line) == longestSpan
	switch {
	case run >= 3 && lineStart(raw[:r.at]):
		switch {
		case r.fence == "":
			if r.out.Len() == 0 && r.Tool != nil && r.read.Calls == nil && rest[0] == '`' {
				if !whole {
					return false
				}
				if slices.Contains(callFences, strings.ToLower(strings.TrimSpace(line))) {
					return r.fencedCall(raw, run, final)
				}
			}
			r.fence = rest[:run]
		case strings.HasPrefix(rest, r.fence):
			after := strings.TrimSpace(line)
			if !whole && after == "" {
				return false
			}
			if after == "" || after[0] == '<' || after[0] == '[' {
				r.fence = ""
			}
		}
	case rest[0] == '`' && r.fence == "":
		end := closingRun(line, run)
		if !whole && (end < 0 || end+run == len(line)) {
			return false
		}
		if end >= 0 {
			run += end + run
		}
	}
	return r.keep(raw, run)
}

// longestSpan is how far the end of inline code is looked for.
const longestSpan = 400

// closingRun returns the index of a run of exactly n backticks, or -1: a longer or
// shorter run does not end inline code.
func closingRun(line string, n int) int {
	for i := 0; ; {
		at := strings.IndexByte(line[i:], '`')
		if at < 0 {
			return -1
		}
		i += at
		run := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
		if run == n {
			return i
		}
		i += run
	}
}

func lineStart(s string) bool {
	s = strings.TrimRight(s, " \t\r")
	return s == "" || s[len(s)-1] == '\n'
}

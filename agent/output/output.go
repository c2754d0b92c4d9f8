// Package output reads what models write: it tells the text that is for people
// from thoughts, from marks of templates, and from calls of tools that a server
// has left in the text.
//
// The promise: thoughts that are marked in one of the known ways reach nobody,
// nor does what a model writes after the end of its turn. Text that only speaks
// of such marks stays as it is: in code, and in a sentence with spaces or quotes
// around them. What cannot be told yet while an answer comes is held back until
// it can; only thoughts whose opening mark was in the template, so that nothing
// but their end shows them, are returned before that, and are then taken back.
// Package agent shows nothing of a model's first answer before that.
//
// Nothing here fails, and nothing starts a goroutine.
package output

import (
	"strings"
	"unicode"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// Answer is what a whole answer holds.
type Answer struct {
	// Text is for people. It is "" if nothing of it can be seen.
	Text string
	// Calls are those that were written as text. They have no ids.
	Calls []sessions.ToolCall
	// Thought says that there were thoughts in it.
	Thought bool
	// Lone says that their beginning was not marked: see [Reader.Thinks].
	Lone bool
}

// Reader reads one answer, piece by piece. Its zero value is ready. It is not
// safe for concurrent use.
type Reader struct {
	// Tool reports whether there is a tool of that name, so that text may call
	// it. Nil: text calls nothing.
	Tool func(name string) bool
	// Thinks says that an answer begins with thoughts whose beginning is not
	// marked, as the one before did: nothing is shown until they end.
	Thinks bool

	raw strings.Builder
	at  int // what of raw is read
	out strings.Builder
	// until, if not nil, are the marks one of which ends the thoughts that are
	// being read. They were searched for up to seen.
	until   []string
	seen    int
	fence   string         // of the code block that is open
	open    map[string]int // marks that were mentioned and not closed, by what closes them
	channel bool           // a message of harmony has just begun or ended
	over    bool           // the rest is another's turn
	failed  int            // marks of calls that were none
	read    Answer
}

// Read reads a whole answer.
func Read(content string, tool func(name string) bool) Answer {
	r := Reader{Tool: tool}
	r.raw.WriteString(content)
	return r.End()
}

// Add takes the next piece and returns all that may be shown so far. That is
// what it returned before, and more, unless thoughts are taken back.
func (r *Reader) Add(piece string) string {
	r.raw.WriteString(piece)
	r.scan(false)
	return r.out.String()
}

// Thought says that thoughts have ended in what was read so far.
func (r *Reader) Thought() bool { return r.read.Thought }

// End returns what the whole answer holds.
func (r *Reader) End() Answer {
	r.scan(true)
	r.read.Text = strings.TrimSpace(strings.ToValidUTF8(r.out.String(), "\uFFFD"))
	if Blank(r.read.Text) {
		r.read.Text = ""
	}
	return r.read
}

// Blank reports whether nothing of s can be seen: spaces of all widths, and
// runes that have none.
func Blank(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool {
		switch c {
		case '\u2800', '\u3164', '\u115F', '\u1160', '\uFFA0': // blanks that count as letters or signs
			return false
		}
		return !unicode.IsSpace(c) && !unicode.Is(unicode.Cf, c) && !unicode.IsControl(c) && !unicode.Is(unicode.Mn, c)
	})
}

// special are the bytes at which scan looks closer.
var special = func() (t [256]bool) {
	for _, c := range "<[`~{\x7f\xc2" {
		t[byte(c)] = true
	}
	t[0xc2] = true
	for c := range 0x20 {
		t[c] = c != '\n' && c != '\t'
	}
	return t
}()

// scan reads as far as it can. final says that nothing more comes.
func (r *Reader) scan(final bool) {
	raw := r.raw.String()
	for r.at < len(raw) && !r.over {
		switch {
		case r.until != nil:
			if !r.endThoughts(raw, final) {
				return
			}
			continue
		case r.Thinks:
			if !r.endUnmarked(raw, final) {
				return
			}
			continue
		}
		end := r.at
		for end < len(raw) && !special[raw[end]] {
			end++
		}
		r.show(raw[r.at:end])
		if r.at = end; end == len(raw) {
			return
		}
		if !r.look(raw, final) {
			return
		}
	}
}

// show adds text for people. It begins with what can be seen.
func (r *Reader) show(s string) {
	if r.out.Len() == 0 {
		s = strings.TrimLeft(s, " \t\r\n")
	}
	if s != "" {
		r.channel = false
		r.out.WriteString(s)
	}
}

// look reads what begins at a special byte. It returns false if more must come
// before that is clear.
func (r *Reader) look(raw string, final bool) bool {
	rest := raw[r.at:]
	if r.out.Len() == 0 && r.fence == "" {
		// A model may begin as the messages of people begin.
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
		return r.skip(1) // no terminal is to get it
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

// skip goes over n bytes of raw that are for nobody, and keep over those that
// are text.
func (r *Reader) skip(n int) bool {
	r.at += n
	return true
}

func (r *Reader) keep(raw string, n int) bool {
	r.show(raw[r.at : r.at+n])
	return r.skip(n)
}

// code reads a fence or a run of backticks: what is in code is text.
func (r *Reader) code(raw string, final bool) bool {
	rest := raw[r.at:]
	run := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	if run == len(rest) && !final {
		return false // it may become longer
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
				if isCallFence(line) {
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

// longestSpan is how far on the end of code in a line is looked for.
const longestSpan = 400

// closingRun is where a run of just n backticks begins in line, or -1.
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

// lineStart reports whether nothing but blanks stand before the end of s in its line.
func lineStart(s string) bool {
	s = strings.TrimRight(s, " \t\r")
	return s == "" || s[len(s)-1] == '\n'
}

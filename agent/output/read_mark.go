package output

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mark reads the mark m, which comes next in raw. It returns false if more text is
// needed to decide whether it acts as a mark or is only mentioned.
func (r *Reader) mark(raw string, m *mark, final bool) bool {
	n := len(m.text)
	before, after := raw[:r.at], raw[r.at+n:]
	start := r.out.Len() == 0 || r.channel
	switch m.kind {
	case opens:
		if after == "" && !final {
			return false
		}
		if start || actsAsMark(before, after) && !strings.HasPrefix(after, " ") {
			return r.beginThoughts(n, m.pair)
		}
		return r.keepPair(raw, m)
	case pairs:
		return r.keepPair(raw, m)
	case channel:
		if start || lineStart(before) {
			return r.harmonyHeader(raw, final)
		}
	case calls:
		if r.Tool != nil && r.failed < maxFailed {
			return r.taggedCall(raw, m, final)
		}
	case closes:
		if r.open[m.text] > 0 {
			r.open[m.text]--
			break
		}
		if after == "" && !final {
			return false
		}
		if actsAsMark(before, after) || r.channel {
			r.takeBack()
			return r.skip(n)
		}
	case begins:
		if start && r.read.Calls == nil {
			return r.ownTurnStart(raw, m, final)
		}
		fallthrough
	case ends:
		if r.open[m.text] > 0 {
			r.open[m.text]--
			break
		}
		if next := strings.TrimLeft(after, " \t\r\n"); !final && (next == "" || strings.HasPrefix(ownTurn, next)) {
			return false
		} else if strings.HasPrefix(next, ownTurn) {
			r.channel = true // the next message of harmony
			return r.skip(n)
		}
		if actsAsMark(before, after) && (m.kind == begins || endsHere(after)) {
			r.ended = true
			return true
		}
	}
	return r.keep(raw, n)
}

// keepPair takes m, and the mark that closes it, for text.
func (r *Reader) keepPair(raw string, m *mark) bool {
	if r.open == nil {
		r.open = make(map[string]int)
	}
	r.open[m.pair]++
	return r.keep(raw, len(m.text))
}

// beginThoughts begins thoughts after a mark of n bytes. Any mark of until ends them.
func (r *Reader) beginThoughts(n int, until ...string) bool {
	r.until = until
	r.skip(n)
	r.seen = r.at
	return true
}

// skipThoughts skips to the end of the thoughts, or returns false if that has not
// arrived.
func (r *Reader) skipThoughts(raw string, final bool) bool {
	at, n := first(raw, r.seen, r.until)
	if at < 0 {
		r.seen = max(r.seen, len(raw)-longestMark)
		if !final {
			return false
		}
		at = len(raw)
	}
	r.read.Thought = true
	r.at, r.until = at+n, nil
	if n > 0 && strings.HasPrefix(raw[at:], "<|") {
		r.at, r.channel = at, true // harmony: read the mark itself next
		if m, _ := markAt(raw[at:]); m != nil && m.kind == ends {
			r.at += n
		}
	}
	return true
}

// skipUnmarkedThoughts skips thoughts whose beginning was not marked, up to their
// end mark. If there is no end mark in the whole answer, it was no thought.
func (r *Reader) skipUnmarkedThoughts(raw string, final bool) bool {
	at, n := first(raw, max(r.seen, r.at), closingMarks)
	switch {
	case at >= 0:
		r.takeBack()
		r.at = at + n
	case !final:
		r.seen = max(r.at, len(raw)-longestMark)
		return false
	}
	r.ExpectThoughts = false // this answer has none
	return true
}

func (r *Reader) takeBack() {
	r.out.Reset()
	r.ExpectThoughts = false
	r.read.Thought, r.read.UnmarkedThoughts = true, true
}

var (
	// closingMarks are the marks that may end thoughts without a begin mark.
	closingMarks = textsOf(closes)
	// messageEnds are the marks that end a message of harmony.
	messageEnds = []string{"<|end|>", "<|return|>", "<|call|>", "<|start|>", "<|channel|>"}

	longestMark = len(slices.MaxFunc(marks, func(a, b mark) int { return len(a.text) - len(b.text) }).text)
)

func textsOf(k kind) (list []string) {
	for _, m := range marks {
		if m.kind == k {
			list = append(list, m.text)
		}
	}
	return list
}

// first returns the index in raw, at or after from, of the first mark in list, and
// its length; -1 if there is none.
func first(raw string, from int, list []string) (at, n int) {
	at = -1
	for _, text := range list {
		if i := strings.Index(raw[from:], text); i >= 0 && (at < 0 || from+i < at) {
			at, n = from+i, len(text)
		}
	}
	return at, n
}

// longestHeader is how far the end of a harmony header is looked for. What is
// longer is text.
const longestHeader = 200

// harmonyHeader reads the header of a message of harmony, which says whether it holds
// thoughts, the answer, or a call.
func (r *Reader) harmonyHeader(raw string, final bool) bool {
	const head, body = "<|channel|>", "<|message|>"
	rest := raw[r.at+len(head):]
	name, _, found := strings.Cut(rest, body)
	switch {
	case len(name) > longestHeader:
		return r.keep(raw, len(head))
	case !found && !final:
		return false
	case !found:
		r.ended = true // the answer ended in the header
		return true
	}
	n := len(head) + len(name) + len(body)
	name = strings.TrimSpace(name)
	switch {
	case strings.Contains(name, "to=") && r.Tool != nil:
		return r.channelCall(raw, n, name, final)
	case strings.HasPrefix(name, "final"), strings.HasPrefix(name, "commentary") && !strings.Contains(name, "to="):
		r.skip(n)
		r.channel = true
		return true
	default:
		return r.beginThoughts(n, messageEnds...)
	}
}

// ownTurnStart skips the marks that begin the model's own turn, up to the text.
func (r *Reader) ownTurnStart(raw string, m *mark, final bool) bool {
	rest := raw[r.at:]
	i := strings.Index(rest, m.pair)
	switch {
	case i > longestHeader, i < 0 && len(rest) > longestHeader:
		r.ended = true
	case i < 0 && !final:
		return false
	case i < 0:
		r.ended = true
	case m.pair == "<|channel|>":
		r.channel = true
		return r.skip(i) // the header says more
	default:
		return r.skip(i + len(m.pair))
	}
	return true
}

// ownTurn follows the end of a message of harmony if the model's turn continues.
const ownTurn = "<|start|>assistant"

// actsAsMark reports whether a mark between before and after is a real one. A
// sentence about marks has a space, a bracket or a quote around them.
func actsAsMark(before, after string) bool {
	next, _ := utf8.DecodeRuneInString(after)
	last, _ := utf8.DecodeLastRuneInString(before)
	end, _ := utf8.DecodeLastRuneInString(strings.TrimRight(before, " \t"))
	switch {
	case after != "" && strings.ContainsRune("\"'`”’»›)}],;|/\\*_", next): // a quote closes
		return false
	case lineStart(before), !unicode.IsSpace(last) && !strings.ContainsRune("([{“‘«‹„", last): // joined to a word, as in templates
		return true
	default: // the end of a sentence
		return strings.ContainsRune(".!?…。！？", end) && (after == "" || after[0] == '\n')
	}
}

// endsHere reports whether the text after a mark shows that the turn ends there:
// nothing, a new line, or another mark.
func endsHere(after string) bool {
	after = strings.TrimLeft(after, " \t\r")
	return after == "" || after[0] == '\n' || after[0] == '<' || after[0] == '['
}

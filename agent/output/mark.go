package output

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mark reads the mark m, with which raw goes on. It returns false if more must
// come before it is clear whether it is one, or only spoken of.
func (r *Reader) mark(raw string, m *mark, final bool) bool {
	n := len(m.text)
	before, after := raw[:r.at], raw[r.at+n:]
	start := r.out.Len() == 0 || r.channel
	switch m.kind {
	case opens:
		if after == "" && !final {
			return false
		}
		if start || aloud(before, after) && !strings.HasPrefix(after, " ") {
			return r.think(n, m.pair)
		}
		return r.mention(raw, m)
	case pairs:
		return r.mention(raw, m)
	case channel:
		if start || lineStart(before) {
			return r.message(raw, final)
		}
	case calls:
		if r.Tool != nil && r.failed < mostFailed {
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
		if aloud(before, after) || r.channel {
			r.takeBack()
			return r.skip(n)
		}
	case begins:
		if start && r.read.Calls == nil {
			return r.role(raw, m, final)
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
		if aloud(before, after) && (m.kind == begins || endsHere(after)) {
			r.over = true
			return true
		}
	}
	return r.keep(raw, n)
}

// mention takes m for text, and what closes it too.
func (r *Reader) mention(raw string, m *mark) bool {
	if r.open == nil {
		r.open = make(map[string]int)
	}
	r.open[m.pair]++
	return r.keep(raw, len(m.text))
}

// think begins thoughts behind a mark of n bytes, which one of until ends.
func (r *Reader) think(n int, until ...string) bool {
	r.until = until
	r.skip(n)
	r.seen = r.at
	return true
}

// endThoughts goes to the end of the thoughts. It returns false if that has not
// come.
func (r *Reader) endThoughts(raw string, final bool) bool {
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
		r.at, r.channel = at, true // harmony: the mark is read as what it is
		if m, _ := markAt(raw[at:]); m != nil && m.kind == ends {
			r.at += n
		}
	}
	return true
}

// endUnmarked goes to the end of thoughts that nothing marks but their end.
func (r *Reader) endUnmarked(raw string, final bool) bool {
	at, n := first(raw, max(r.seen, r.at), closing)
	switch {
	case at >= 0:
		r.takeBack()
		r.at = at + n
	case !final:
		r.seen = max(r.at, len(raw)-longestMark)
		return false
	}
	r.Thinks = false // there were none this time
	return true
}

// takeBack makes thoughts of all that was shown.
func (r *Reader) takeBack() {
	r.out.Reset()
	r.Thinks = false
	r.read.Thought, r.read.Lone = true, true
}

var (
	// closing are the marks that may end thoughts which nothing began.
	closing = textsOf(closes)
	// messageEnds end a message of harmony.
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

// first is where the first of these marks stands in raw from there on, and its
// length; -1 if there is none.
func first(raw string, from int, list []string) (at, n int) {
	at = -1
	for _, text := range list {
		if i := strings.Index(raw[from:], text); i >= 0 && (at < 0 || from+i < at) {
			at, n = from+i, len(text)
		}
	}
	return at, n
}

// longestHeader bounds the header of a message of harmony.
const longestHeader = 200

// message reads the header of a message of harmony, which says what it is:
// thoughts, the answer, or a call.
func (r *Reader) message(raw string, final bool) bool {
	const head, body = "<|channel|>", "<|message|>"
	rest := raw[r.at+len(head):]
	name, _, found := strings.Cut(rest, body)
	switch {
	case len(name) > longestHeader:
		return r.keep(raw, len(head))
	case !found && !final:
		return false
	case !found:
		r.over = true // it ended in the header
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
		return r.think(n, messageEnds...)
	}
}

// role skips the beginning of the model's own turn, up to where it speaks.
func (r *Reader) role(raw string, m *mark, final bool) bool {
	rest := raw[r.at:]
	i := strings.Index(rest, m.pair)
	switch {
	case i > longestHeader, i < 0 && len(rest) > longestHeader:
		r.over = true
	case i < 0 && !final:
		return false
	case i < 0:
		r.over = true
	case m.pair == "<|channel|>":
		r.channel = true
		return r.skip(i) // which says more
	default:
		return r.skip(i + len(m.pair))
	}
	return true
}

// ownTurn follows the end of a message of harmony after which the model goes on.
const ownTurn = "<|start|>assistant"

// aloud reports whether a mark between before and after is one. A sentence that
// speaks of it has a space, a bracket or a quote around it.
func aloud(before, after string) bool {
	switch {
	case after != "" && closesQuote(after):
		return false
	case lineStart(before), touches(before):
		return true
	default:
		return sentenceEnds(strings.TrimRight(before, " \t")) && (after == "" || after[0] == '\n')
	}
}

// touches reports whether before ends with a word or a sign to which a mark is
// joined as templates join it.
func touches(before string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	return !unicode.IsSpace(last) && !strings.ContainsRune("([{“‘«‹„", last)
}

func closesQuote(after string) bool {
	next, _ := utf8.DecodeRuneInString(after)
	return strings.ContainsRune("\"'`”’»›)}],;|/\\*_", next)
}

// sentenceEnds reports whether a sentence ends with s.
func sentenceEnds(s string) bool {
	last, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?…。！？", last)
}

// endsHere reports whether what follows a mark shows that a turn ends with it:
// nothing, a new line, or another mark.
func endsHere(after string) bool {
	after = strings.TrimLeft(after, " \t\r")
	return after == "" || after[0] == '\n' || after[0] == '<' || after[0] == '['
}

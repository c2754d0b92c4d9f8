package window

import (
	"unicode/utf8"

	"dragoman/sessions"
)

// perMessage is what a server's template adds around each message and call.
const perMessage = 4

// imageTokens is what a picture counts. Models scale pictures down, so their
// size in bytes says little; most take between 250 and 1600 tokens.
const imageTokens = 1000

// pictures is what the files of m count beyond the lines that name them: those
// that a model may be shown.
func pictures(m *sessions.Message) int {
	n := 0
	for _, a := range m.Attachments {
		if a.File != "" && a.IsImage() {
			n += imageTokens
		}
	}
	return n
}

// attached is what counts of that which m's provider put beside it: most of it
// is encrypted or encoded, of which no tokenizer says what the provider makes of it.
func attached(m *sessions.Message) int {
	if m.Attached == nil {
		return 0
	}
	return (len(m.Attached.Data) + 3) / 4
}

// Estimate guesses how many tokens msgs take, ids, names and arguments of
// tool calls included.
func Estimate(msgs []sessions.Message) int { return Count(msgs, nil) }

// EstimateMessage guesses how many tokens m takes.
func EstimateMessage(m *sessions.Message) int { return countMessage(m, EstimateText) }

// Count is Estimate with another way to count the tokens of a text; nil is
// EstimateText.
func Count(msgs []sessions.Message, text func(string) int) int {
	if text == nil {
		text = EstimateText
	}
	n := 0
	for i := range msgs {
		n += countMessage(&msgs[i], text)
	}
	return n
}

func countMessage(m *sessions.Message, text func(string) int) int {
	n := perMessage + text(m.Content) + text(m.ToolCallID) + pictures(m) + attached(m)
	for _, c := range m.ToolCalls {
		n += perMessage + text(c.ID) + text(c.Name) + text(c.Arguments)
	}
	return n
}

// Bound is never less than Estimate and costs next to nothing: no text has
// more tokens than bytes here.
func Bound(msgs []sessions.Message) int {
	n := 0
	for i := range msgs {
		n += perMessage + len(msgs[i].Content) + len(msgs[i].ToolCallID) + pictures(&msgs[i]) + attached(&msgs[i])
		for _, c := range msgs[i].ToolCalls {
			n += perMessage + len(c.ID) + len(c.Name) + len(c.Arguments)
		}
	}
	return n
}

// Weights in tenths of a token. One number of characters per token for all
// text would be off by up to six times, and in the dangerous direction for
// Chinese, emoji and the machine text that tools return.
const (
	weightIdeograph = 13 // a Han, kana or hangul rune
	weightEmoji     = 21 // an emoji, joiner or variation selector
	weightOther     = 6  // a rune of any other script
	weightToken     = 10
)

// A text longer than wholeText is measured in samples of sampleText bytes, as
// many as make wholeText, spread evenly over it, and the rest is taken to be
// like them. A message of 12 MB costs no more than one of 512 KiB that way.
const (
	wholeText  = 512 << 10
	sampleText = 8 << 10
)

// EstimateText guesses how many tokens s takes. It does not allocate, and its
// cost is bounded, however long s is.
func EstimateText(s string) int {
	if len(s) <= wholeText {
		return estimate(s)
	}
	return Sampled(s, wholeText, sampleText, estimate)
}

// Sampled counts the tokens of total bytes of s, which is longer, in pieces of piece
// bytes, spread evenly, the beginning and the end among them, and returns what
// that comes to for the whole of s.
func Sampled(s string, total, piece int, count func(string) int) int {
	pieces := max(total/piece, 2)
	tokens, bytes := 0, 0
	for i := range pieces {
		from := runeStart(s, (len(s)-piece)/(pieces-1)*i)
		to := runeStart(s, from+piece)
		tokens += count(s[from:to])
		bytes += to - from
	}
	return int(int64(tokens) * int64(len(s)) / int64(max(bytes, 1)))
}

// runeStart moves i back to where a rune of s begins, if there is one near.
func runeStart(s string, i int) int {
	for at := i; at > i-utf8.UTFMax && at > 0 && at < len(s); at-- {
		if utf8.RuneStart(s[at]) {
			return at
		}
	}
	return min(i, len(s))
}

func estimate(s string) int {
	tenths := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			end, tokens := asciiRun(s, i)
			tenths += tokens * weightToken
			i = end
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		tenths += runeWeight(r, size)
		i += size
	}
	return (tenths + weightToken - 1) / weightToken
}

// What a report of used tokens is worth: a factor outside of the limits is no
// tokenizer's, and a report below implausible of what was counted is a server
// that leaves out what came from its cache.
const (
	leastFactor = 0.5
	mostFactor  = 3
	implausible = 0.25
	newestShare = 0.3
)

// Calibrate returns by what the counts of this package are to be multiplied
// for one model, given the factor so far (1 at first) and that the server said
// reported where counted was counted. It is a moving average, so that one odd
// report does little.
func Calibrate(factor float64, reported, counted int) float64 {
	if reported <= 0 || counted <= 0 {
		return factor
	}
	ratio := float64(reported) / float64(counted)
	if ratio < implausible || ratio > 2*mostFactor {
		return factor
	}
	ratio = min(max(ratio, leastFactor), mostFactor)
	return factor + newestShare*(ratio-factor)
}

// Reserve is how much of a window of so many tokens is left free for the answer,
// which has at most so many, if that is not 0.
func Reserve(window, answer int) int {
	if answer > 0 {
		return min(answer, window/2)
	}
	return min(4096, window/8)
}

type class byte

const (
	control class = iota
	lower
	upper
	digit
	space
	newline
	punctuation
)

var classes = func() (t [utf8.RuneSelf]class) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z':
			t[c] = lower
		case c >= 'A' && c <= 'Z':
			t[c] = upper
		case c >= '0' && c <= '9':
			t[c] = digit
		case c == ' ' || c == '\t':
			t[c] = space
		case c == '\n' || c == '\r':
			t[c] = newline
		case c > ' ' && c < 0x7f:
			t[c] = punctuation
		}
	}
	return t
}()

// asciiRun measures the run of one class that begins at s[i]: where it ends
// and how many tokens it is. A capital joins the small letters behind it.
func asciiRun(s string, i int) (end, tokens int) {
	first := classes[s[i]]
	start := i
	for i++; i < len(s) && s[i] < utf8.RuneSelf; i++ {
		c := classes[s[i]]
		if c == first {
			continue
		}
		if first == upper && c == lower && i == start+1 {
			first = lower
			continue
		}
		break
	}
	n := i - start
	switch first {
	case lower, upper:
		return i, (n + 6) / 7
	case digit:
		return i, (n + 2) / 3
	case punctuation:
		return i, (n + 1) / 2
	case space:
		if n == 1 && s[start] == ' ' {
			return i, 0 // a word takes the space before it along
		}
		return i, 1
	case newline:
		return i, 1
	default:
		return i, n
	}
}

func runeWeight(r rune, size int) int {
	switch {
	case r == utf8.RuneError && size == 1:
		return weightToken // a byte that is not UTF-8
	case r >= 0x2E80 && r <= 0x9FFF, // Han, kana, bopomofo and their signs
		r >= 0xAC00 && r <= 0xD7AF, // hangul
		r >= 0x1100 && r <= 0x11FF,
		r >= 0xF900 && r <= 0xFAFF,
		r >= 0xFF00 && r <= 0xFFEF, // full-width forms
		r >= 0x20000 && r <= 0x3FFFF:
		return weightIdeograph
	case r >= 0x2190 && r <= 0x2BFF, // arrows, signs, dingbats
		r >= 0x1F000 && r <= 0x1FBFF,
		r == 0x200D, r >= 0xFE00 && r <= 0xFE0F,
		r >= 0xE0000: // tags, private use
		return weightEmoji
	default:
		return weightOther
	}
}

package window

import (
	"unicode/utf8"

	"dragoman/sessions"
)

// perMessage is the number of tokens that a server's template adds around each
// message and call.
const perMessage = 4

// imageTokens is what a picture counts. Models scale pictures down, so their size in
// bytes says little; most take between 250 and 1600 tokens.
const imageTokens = 1000

// pictureTokens counts the pictures of m that a model may be shown. The lines of text
// that name them are counted elsewhere.
func pictureTokens(m *sessions.Message) int {
	n := 0
	if m.Role != sessions.RoleUser {
		return n // what a tool sends is shown to people
	}
	for _, a := range m.Attachments {
		if a.File != "" && a.IsImage() {
			n += imageTokens
		}
	}
	return n
}

// attachedTokens guesses the tokens of the data that m's provider attached. Most of
// it is encrypted or encoded, so no tokenizer can tell.
func attachedTokens(m *sessions.Message) int {
	if m.Attached == nil {
		return 0
	}
	return (len(m.Attached.Data) + 3) / 4
}

// EstimateMessage guesses how many tokens m takes.
func EstimateMessage(m *sessions.Message) int { return countMessage(m, EstimateText) }

// Count returns how many tokens msgs take, including ids, names and arguments of tool
// calls. text counts the tokens of a text; nil is EstimateText.
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
	n := perMessage + text(m.Content) + text(m.ToolCallID) + pictureTokens(m) + attachedTokens(m)
	for _, c := range m.ToolCalls {
		n += perMessage + text(c.ID) + text(c.Name) + text(c.Arguments)
	}
	return n
}

// UpperBound is never less than Count and costs almost nothing: here no text has
// more tokens than bytes.
func UpperBound(msgs []sessions.Message) int {
	n := 0
	for i := range msgs {
		n += perMessage + len(msgs[i].Content) + len(msgs[i].ToolCallID) + pictureTokens(&msgs[i]) + attachedTokens(&msgs[i])
		for _, c := range msgs[i].ToolCalls {
			n += perMessage + len(c.ID) + len(c.Name) + len(c.Arguments)
		}
	}
	return n
}

// Weights in tenths of a token. One number of characters per token for all text would
// be wrong by a factor of up to six, and too low for Chinese, emoji and the machine
// text that tools return.
const (
	weightIdeograph = 13 // a Han, kana or hangul rune
	weightEmoji     = 21 // an emoji, joiner or variation selector
	weightOther     = 6  // a rune of any other script
	weightToken     = 10
)

// A text longer than wholeText is estimated from samples of sampleText bytes,
// wholeText bytes in all, spread evenly over it. So a message of 12 MB costs no more
// than one of 512 KiB.
const (
	wholeText  = 512 << 10
	sampleText = 8 << 10
)

// EstimateText guesses how many tokens s takes. It does not allocate, and its cost is
// limited, however long s is.
func EstimateText(s string) int {
	if len(s) <= wholeText {
		return estimate(s)
	}
	return Sampled(s, wholeText, sampleText, estimate)
}

// Sampled estimates the tokens of s from total bytes of it, in pieces of piece bytes,
// spread evenly and including both ends. s must be longer than total.
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

// runeStart moves i back to the start of a rune of s, if there is one nearby.
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

// How a report of used tokens changes the factor. A factor outside of the limits
// cannot come from a tokenizer. A report below implausible times our count comes from
// a server that does not count tokens from its cache.
const (
	minFactor    = 0.5
	maxFactor    = 3
	implausible  = 0.25
	newestWeight = 0.3
)

// Calibrate returns the new factor to multiply the counts of this package by for one
// model, given the factor so far (1 at first) and one pair of counts: the server's
// and ours. It is a moving average, so that one odd report changes little.
func Calibrate(factor float64, reported, counted int) float64 {
	if reported <= 0 || counted <= 0 {
		return factor
	}
	ratio := float64(reported) / float64(counted)
	if ratio < implausible || ratio > 2*maxFactor {
		return factor
	}
	ratio = min(max(ratio, minFactor), maxFactor)
	return factor + newestWeight*(ratio-factor)
}

// Reserve returns how many tokens of a window to leave for an answer of this limit (0:
// none).
func Reserve(window, answer int) int {
	if answer > 0 {
		return min(answer, window/2)
	}
	return min(4096, window/8)
}

// class is a kind of character. How many characters a token has depends on the
// classes and on where they change.
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

// asciiRun measures the run of one class that begins at s[i]: where it ends and how
// many tokens it is. A capital letter joins the small letters after it.
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
			return i, 0 // part of the next word's token
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

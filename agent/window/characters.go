package window

import (
	"strconv"
	"strings"
)

// WholeCharacters returns JSON text without halves of characters: a model may stop
// between the two escapes of one (\ud83d\ude42). Strict servers refuse a request with
// such a half anywhere in it, so U+FFFD takes its place, as it does for bytes that are
// not UTF-8.
func WholeCharacters(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if !strings.Contains(text, `\u`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		n := 1
		switch {
		case text[i] != '\\':
		case isHigh(escape(text[i:])) && isLow(escape(text[i+escapeBytes:])):
			n = 2 * escapeBytes
		case isHigh(escape(text[i:])), isLow(escape(text[i:])):
			b.WriteString(`\ufffd`)
			i += escapeBytes
			continue
		default:
			n = min(2, len(text)-i) // also a backslash that another one escapes
		}
		b.WriteString(text[i : i+n])
		i += n
	}
	return b.String()
}

// escapeBytes is the length of an escape like \u00e9.
const escapeBytes = 6

// escape returns the number in the escape that text begins with, or 0.
func escape(text string) uint64 {
	if len(text) < escapeBytes || text[:2] != `\u` {
		return 0
	}
	n, err := strconv.ParseUint(text[2:escapeBytes], 16, 16)
	if err != nil {
		return 0
	}
	return n
}

func isHigh(n uint64) bool { return n >= 0xd800 && n < 0xdc00 }

func isLow(n uint64) bool { return n >= 0xdc00 && n < 0xe000 }

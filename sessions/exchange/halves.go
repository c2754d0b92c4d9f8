package exchange

import (
	"strconv"
	"unicode/utf16"
)

// hasHalf reports whether a JSON text has half of a character: one of the two
// escapes that stand for one together, without the other. The decoder puts
// U+FFFD in its place, and nobody would know.
func hasHalf(raw []byte) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		r, ok := escaped(raw[i:])
		switch {
		case !ok:
			i++ // what is escaped, perhaps a backslash
		case !utf16.IsSurrogate(r):
			i += 5
		default:
			low, _ := escaped(raw[i+6:])
			if utf16.DecodeRune(r, low) == '\uFFFD' {
				return true
			}
			i += 11
		}
	}
	return false
}

// escaped reads \uXXXX at the beginning of raw.
func escaped(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n), err == nil
}

package wire

import "unicode/utf8"

// AppendString appends s to b as a JSON string. It is what encoding/json writes, but for
// characters that only HTML needs to have escaped: bytes that are not UTF-8 become U+FFFD.
// A request holds a whole conversation, and reflection over it was 3 % of a turn.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	plain := 0 // s[plain:i] needs no escapes
	for i := 0; i < len(s); {
		if i+8 <= len(s) && plainEight(s[i:i+8]) {
			i += 8
			continue
		}
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		b = append(b, s[plain:i]...)
		b = appendEscape(b, c)
		i += size
		plain = i
	}
	b = append(b, s[plain:]...)
	return append(b, '"')
}

// plainEight reports whether eight bytes are ASCII that needs no escapes. It looks at all of
// them at once: a byte that is too small borrows, so its highest bit is set, as it is in what
// is not ASCII.
func plainEight(s string) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	quote, backslash := x^ones*'"', x^ones*'\\'
	return ((x-ones*' ')|(quote-ones)|(backslash-ones))&high == 0
}

// appendEscape appends one byte that may not stand in a JSON string.
func appendEscape(b []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	if c >= utf8.RuneSelf {
		return append(b, "\ufffd"...)
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

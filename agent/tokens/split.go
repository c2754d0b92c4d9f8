package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// An encoding first cuts a text into pieces, roughly words with what is before them,
// and no token reaches over two of them. OpenAI says how as a regular expression; the
// functions here match the same, and a test compares them with the expression.

// class says what a rune is to the expressions.
type class uint8

const (
	capital class = 1 << iota // Lu, Lt
	small                     // Ll
	letter                    // Lm, Lo: letters of scripts without capitals
	mark                      // M
	number
	space
	lineEnd // a space, too
)

const (
	anyLetter = capital | small | letter
	// head and tail of a word in o200k_base: one capital ends the last word.
	head = capital | letter | mark
	tail = small | letter | mark
	// A sign is a rune that is none of these.
	notSign = anyLetter | number | space
)

// classes has the scripts' tables in the order in which they are asked.
var classes = []struct {
	is    class
	table *unicode.RangeTable
}{
	{letter, unicode.Lo},
	{small, unicode.Ll},
	{capital, unicode.Lu},
	{mark, unicode.M},
	{number, unicode.N},
	{letter, unicode.Lm},
	{capital, unicode.Lt},
	{space, unicode.White_Space},
}

func classOf(r rune) class {
	switch {
	case 'a' <= r && r <= 'z':
		return small
	case r == ' ':
		return space
	case 'A' <= r && r <= 'Z':
		return capital
	case '0' <= r && r <= '9':
		return number
	case r == '\n', r == '\r':
		return space | lineEnd
	case '\t' <= r && r <= '\r':
		return space
	case r < utf8.RuneSelf:
		return 0
	}
	for _, c := range classes {
		if unicode.Is(c.table, r) {
			return c.is
		}
	}
	return 0
}

// classAt returns the class of the rune of s at i, and where the next one begins. At
// the end of s there is none, of no class, and next is i.
func classAt(s string, i int) (is class, next int) {
	r, size := utf8.DecodeRuneInString(s[i:])
	if size == 0 {
		return 0, i
	}
	return classOf(r), i + size
}

// run returns the end of the runes from i on that are of one of the classes.
func run(s string, i int, of class) int {
	for i < len(s) {
		is, next := classAt(s, i)
		if is&of == 0 {
			break
		}
		i = next
	}
	return i
}

// splitO200k returns the length of the first piece of s in o200k_base, of which this is
// the expression, one alternative a line:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func splitO200k(s string) int {
	begin := beforeWord(s)
	end := wordO200k(s, begin)
	if end == 0 && begin > 0 {
		end = wordO200k(s, 0) // what may be before a word may be a mark
	}
	if end == 0 {
		// The first alternative leaves only words of capitals to the second one.
		end = run(s, begin, capital)
		if end == begin {
			return splitOther(s, "\r\n/")
		}
	}
	return end + contraction(s[end:])
}

// wordO200k returns the end of a word that ends in its tail, or 0. The expression
// gives back what its head took, until there is something left for the tail.
func wordO200k(s string, i int) int {
	end := 0
	for i < len(s) {
		is, next := classAt(s, i)
		if is&head == 0 {
			break
		}
		i = next
		if is&tail != 0 {
			end = i
		}
	}
	if after := run(s, i, tail); after > i {
		return after
	}
	return end
}

// splitCl100k returns the length of the first piece of s in cl100k_base, of which this
// is the expression:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func splitCl100k(s string) int {
	if end := contraction(s); end > 0 {
		return end
	}
	begin := beforeWord(s)
	if end := run(s, begin, anyLetter); end > begin {
		return end
	}
	return splitOther(s, "\r\n")
}

// beforeWord returns the length of the rune that may be before a word, as a space is:
// [^\r\n\p{L}\p{N}]?
func beforeWord(s string) int {
	is, next := classAt(s, 0)
	if is&(lineEnd|anyLetter|number) != 0 {
		return 0
	}
	return next
}

// contraction returns the length of the end of "it's", "don't" and so on that s begins
// with, or 0: (?i:'s|'t|'re|'ve|'m|'ll|'d)
func contraction(s string) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	switch s[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(s) < 3 {
		return 0
	}
	switch string([]byte{s[1] | 0x20, s[2] | 0x20}) {
	case "re", "ve", "ll":
		return 3
	}
	return 0
}

// splitOther returns the length of the first piece of s if that is no word: up to three
// numbers, signs with what may come after them, or spaces.
func splitOther(s, afterSigns string) int {
	is, next := classAt(s, 0)
	if is == number {
		for range 2 {
			is, after := classAt(s, next)
			if is != number {
				break
			}
			next = after
		}
		return next
	}
	begin := 0
	if s[0] == ' ' {
		begin = 1
	}
	if end := signs(s, begin); end > begin {
		for end < len(s) && strings.IndexByte(afterSigns, s[end]) >= 0 {
			end++
		}
		return end
	}
	return blanks(s)
}

// signs returns the end of the signs from i on: [^\s\p{L}\p{N}]+
func signs(s string, i int) int {
	for i < len(s) {
		is, next := classAt(s, i)
		if is&notSign != 0 {
			break
		}
		i = next
	}
	return i
}

// blanks returns the length of the spaces that s begins with: up to the last line end
// among them, otherwise without the last one, which belongs to what comes next.
func blanks(s string) int {
	end := run(s, 0, space)
	if last := strings.LastIndexAny(s[:end], "\r\n"); last >= 0 {
		return last + 1
	}
	if end == len(s) {
		return end
	}
	_, size := utf8.DecodeLastRuneInString(s[:end])
	if size < end {
		return end - size
	}
	return end
}

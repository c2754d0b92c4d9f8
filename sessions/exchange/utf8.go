package exchange

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// errEncoding: it is not UTF-8.
var errEncoding = fmt.Errorf("%w: no UTF-8", ErrFormat)

// utf8Reader refuses what is not UTF-8. The JSON decoder would put U+FFFD in
// the place of what it cannot read, and nobody would know.
type utf8Reader struct {
	r    io.Reader
	at   int64             // of the next byte to look at
	tail [utf8.UTFMax]byte // the beginning of a character whose rest comes next
	held int
}

func (u *utf8Reader) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		if u.held > 0 {
			u.tail[u.held] = rest[0]
			u.held, rest = u.held+1, rest[1:]
			if utf8.FullRune(u.tail[:u.held]) {
				r, size := utf8.DecodeRune(u.tail[:u.held])
				if r == utf8.RuneError && size == 1 {
					return 0, u.wrong()
				}
				u.at, u.held = u.at+int64(u.held), 0
			}
			continue
		}
		r, size := utf8.DecodeRune(rest)
		switch {
		case r != utf8.RuneError || size != 1:
			u.at, rest = u.at+int64(size), rest[size:]
		case utf8.FullRune(rest):
			return 0, u.wrong()
		default:
			u.held, rest = copy(u.tail[:], rest), nil
		}
	}
	if err == io.EOF && u.held > 0 {
		return 0, u.wrong()
	}
	return n, err
}

func (u *utf8Reader) wrong() error {
	return fmt.Errorf("%w at byte %d; convert the file first (iconv -f LATIN1 -t UTF-8 does so, say)", errEncoding, u.at)
}

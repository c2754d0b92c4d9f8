package irc

import "strings"

// folder folds names the way a network compares them, so that "#Go" and "#go" are
// one conversation. The network announces it as CASEMAPPING; the default is
// rfc1459.
type folder string

const (
	foldASCII  folder = "ascii"
	foldRFC    folder = "rfc1459"
	foldStrict folder = "rfc1459-strict"
)

// RFC 1459 was written in Scandinavia, where {|}~ were the small letters of []\^;
// the strict form leaves out the last pair.
var (
	rfcPairs    = strings.NewReplacer("[", "{", "]", "}", "\\", "|", "^", "~")
	strictPairs = strings.NewReplacer("[", "{", "]", "}", "\\", "|")
)

// fold returns the form that equal names share. Any mapping but the three classic
// ones belongs to a network with Unicode names; Unicode lower case is the closest
// we have without its tables.
func (f folder) fold(name string) string {
	switch f {
	case foldASCII:
		return lowerASCII(name)
	case foldRFC, "":
		return rfcPairs.Replace(lowerASCII(name))
	case foldStrict, "strict-rfc1459":
		return strictPairs.Replace(lowerASCII(name))
	}
	return strings.ToLower(name)
}

func (f folder) same(a, b string) bool { return f.fold(a) == f.fold(b) }

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

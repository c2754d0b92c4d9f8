package irc

import "strings"

// folder folds names the way one network compares them, so that "#Go" and
// "#go" are one conversation. The network announces its way as CASEMAPPING;
// where it says nothing the old standard's way holds.
type folder string

const (
	foldASCII  folder = "ascii"
	foldRFC    folder = "rfc1459"
	foldStrict folder = "rfc1459-strict"
)

// The old standard came from Scandinavia, where {|}~ were the small letters of
// []\^; the strict form leaves out the last pair.
var (
	rfcPairs    = strings.NewReplacer("[", "{", "]", "}", "\\", "|", "^", "~")
	strictPairs = strings.NewReplacer("[", "{", "]", "}", "\\", "|")
)

// fold returns the form of name that equal names share. Mappings that are not
// one of the three classical ones belong to networks with Unicode names;
// Unicode's lower case is the closest that can be had without their tables.
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

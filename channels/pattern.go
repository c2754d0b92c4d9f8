package channels

import "strings"

// Pattern stands for chats: a channel ("telegram"), one chat ("telegram:42"), or all whose
// keys begin alike ("telegram:-100200:*").
type Pattern string

// anyChat ends a pattern that stands for all keys that begin so.
const anyChat = "*"

// Matches reports whether p stands for k.
func (p Pattern) Matches(k Key) bool {
	if begin, many := strings.CutSuffix(string(p), anyChat); many {
		return strings.HasPrefix(k.String(), begin)
	}
	return string(p) == k.Channel() || string(p) == k.String()
}

// Key is the one chat that p stands for; zero if it may stand for several.
func (p Pattern) Key() Key {
	k, err := ParseKey(string(p))
	if err != nil || strings.HasSuffix(string(p), anyChat) {
		return Key{}
	}
	return k
}

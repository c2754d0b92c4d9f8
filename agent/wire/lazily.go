package wire

import (
	"regexp"
	"sync"
)

// Lazily compiles an expression when it is first asked for. Those for the words
// of refusals took 0.8 MB of each start, and most processes meet no refusal.
func Lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

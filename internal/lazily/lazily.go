// Package lazily holds regular expressions back until they are asked for. A
// compiled one takes 1 to 30 KB for as long as the process lives, and most
// processes never meet what most expressions look for.
package lazily

import (
	"regexp"
	"sync"
)

// Compile returns a function that compiles expression when it is first called,
// and panics if that cannot be done. Several goroutines may call it.
func Compile(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

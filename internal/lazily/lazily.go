// Package lazily holds regular expressions back until they are asked for. A
// compiled one takes 1 to 30 KB for as long as the process lives, and most
// processes never meet what most expressions look for.
package lazily

import (
	"regexp"
	"sync"
)

// Expression is a regular expression that is compiled when it is first used. It
// is a struct and no function so that the linker can lay it out: a variable of
// it costs no code before main.
type Expression struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// Compile makes an expression of text.
func Compile(text string) *Expression { return &Expression{text: text} }

// Regexp compiles the expression if nobody has, and panics if that cannot be
// done. Several goroutines may call it.
func (e *Expression) Regexp() *regexp.Regexp {
	e.once.Do(func() { e.compiled = regexp.MustCompile(e.text) })
	return e.compiled
}

// Matches reports whether something in text matches the expression.
func (e *Expression) Matches(text string) bool { return e.Regexp().MatchString(text) }

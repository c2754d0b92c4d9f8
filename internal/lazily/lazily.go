// Package lazily compiles regular expressions on first use. A compiled one uses 1 to
// 30 KB for the life of the process, and most processes need few of them.
package lazily

import (
	"regexp"
	"sync"
)

// Expression is a regular expression that is compiled on first use. It is a struct and
// not a function, so that a package variable of it runs no code before main.
type Expression struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// Compile returns an expression that is not compiled yet.
func Compile(text string) *Expression { return &Expression{text: text} }

// Regexp returns the compiled expression, and panics if it is invalid. Several
// goroutines may call it.
func (e *Expression) Regexp() *regexp.Regexp {
	e.once.Do(func() { e.compiled = regexp.MustCompile(e.text) })
	return e.compiled
}

// Matches reports whether text contains a match.
func (e *Expression) Matches(text string) bool { return e.Regexp().MatchString(text) }

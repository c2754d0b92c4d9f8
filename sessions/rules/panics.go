package rules

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Panic returns the error of a recovered panic with the value v. The stack names functions
// and lines, never chat text. The value may have chat text, so the error shows only its
// type, unless the runtime made it.
func Panic(v any) error {
	value := fmt.Sprintf("%T", v)
	if e, ok := v.(runtime.Error); ok {
		value = e.Error()
	}
	return fmt.Errorf("panic: %s\n%s", value, debug.Stack())
}

// Recover, called by defer, turns a panic into an error.
func Recover(err *error) {
	if p := recover(); p != nil {
		*err = Panic(p)
	}
}

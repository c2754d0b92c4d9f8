package rules

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Panic is the error of a panic with the value v, for a deferred function that
// has recovered it. The stack names functions and lines, never what anybody
// wrote; the value may hold some of it, unless the runtime made it, and then
// only its type is told.
func Panic(v any) error {
	value := fmt.Sprintf("%T", v)
	if e, ok := v.(runtime.Error); ok {
		value = e.Error()
	}
	return fmt.Errorf("panic: %s\n%s", value, debug.Stack())
}

package rows_test

import (
	"reflect"
	"testing"

	"dragoman/sessions/rows"
)

// TestKernelIsSmall: every method is one that each backend has to have. A new
// kind of record or a new question goes through those that are there.
func TestKernelIsSmall(t *testing.T) {
	if n := reflect.TypeFor[rows.Backend]().NumMethod(); n > 20 {
		t.Errorf("rows.Backend has %d methods, want at most 20", n)
	}
}

package rows_test

import (
	"reflect"
	"testing"

	"dragoman/sessions/rows"
)

// TestKernelIsSmall: each backend has to implement every method. New kinds of records and
// new questions go through the existing ones.
func TestKernelIsSmall(t *testing.T) {
	if n := reflect.TypeFor[rows.Backend]().NumMethod(); n > 20 {
		t.Errorf("rows.Backend has %d methods, want at most 20", n)
	}
}

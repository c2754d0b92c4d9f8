//go:build nopostgres

package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBuiltWithoutPostgreSQL(t *testing.T) {
	_, err := load(t, "store: {type: postgres, url: 'postgres://x'}")
	want := []string{"1 store.type: this program was built without PostgreSQL (-tags nopostgres); use the ordinary build"}
	if diff := cmp.Diff(want, problems(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

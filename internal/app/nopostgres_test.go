//go:build nopostgres

package app_test

import (
	"strings"
	"testing"
)

func TestBuiltWithoutPostgreSQL(t *testing.T) {
	p := newPlace(t, "store: {type: postgres, url: 'postgres://u:p@127.0.0.1:1/d'}")
	if got := p.refused(); !strings.Contains(got, "this program was built without PostgreSQL (-tags nopostgres): use the ordinary build") {
		t.Errorf("the daemon says %q", got)
	}
}

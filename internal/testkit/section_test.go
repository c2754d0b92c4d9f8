package testkit_test

import (
	"testing"

	"dragoman/internal/testkit"
)

func TestReplaceSection(t *testing.T) {
	in := "# A\n<!-- x:begin -->\nold\n<!-- x:end -->\nrest\n"
	got, err := testkit.ReplaceSection(in, "x", "\nnew\n\n")
	if want := "# A\n<!-- x:begin -->\nnew\n<!-- x:end -->\nrest\n"; err != nil || got != want {
		t.Errorf("ReplaceSection = %q, %v, want %q", got, err, want)
	}
	for _, bad := range []string{"", "<!-- x:begin -->\n", "<!-- x:end -->"} {
		if _, err := testkit.ReplaceSection(bad, "x", "new"); err == nil {
			t.Errorf("ReplaceSection(%q) found a section", bad)
		}
	}
}

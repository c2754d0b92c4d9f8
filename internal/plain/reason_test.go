package plain_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"dragoman/internal/plain"
)

func TestReason(t *testing.T) {
	for text, want := range map[string]string{
		"sqlite: database or disk is full (13)":             "The disk is full",
		"attempt to write a readonly database (8)":          "read-only",
		"database disk image is malformed (11)":             "damaged",
		"file is not a database (26)":                       "is not a database",
		"disk I/O error (10)":                               "input/output",
		"something with a secret in it that nobody expects": "the daemon's log says why",
	} {
		if got := plain.Reason(errors.New(text)); !strings.Contains(got, want) {
			t.Errorf("Reason(%q) = %q, want %q in it", text, got, want)
		}
	}
	if got := plain.Reason(fmt.Errorf("x: %w", syscall.EROFS)); !strings.Contains(got, "read-only") {
		t.Errorf("Reason(EROFS) = %q", got)
	}
}

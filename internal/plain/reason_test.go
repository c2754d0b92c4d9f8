package plain_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/internal/plain"
	"dragoman/sessions"
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
	full := &sessions.RefusesError{Since: time.Date(2026, 5, 1, 12, 0, 5, 0, time.UTC), Why: "postgres: accept: the disk of PostgreSQL at 127.0.0.1:5432 is full (no space)"}
	const want = "Since 12:00:05 UTC no message could be stored. The disk of PostgreSQL is full"
	if got := plain.Reason(fmt.Errorf("postgres: check: %w", full)); !strings.HasPrefix(got, want) {
		t.Errorf("Reason = %q, want %q", got, want)
	}
	if got := plain.Reason(fmt.Errorf("x: %w", syscall.EROFS)); !strings.Contains(got, "read-only") {
		t.Errorf("Reason(EROFS) = %q", got)
	}
}

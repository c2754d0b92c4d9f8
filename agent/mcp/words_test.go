package mcp_test

import (
	"strings"
	"testing"

	"dragoman/agent/mcp"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                       "plain",
		" a\nb\tc ":                   "a\nb\tc",
		"a\u200bb\u202ec\u2066\ufeff": "abc",
		"\U000e0041\U000e0042x":       "x",
		"bell\x07\x1b[0m":             "bell[0m",
		"broken\xff":                  "broken",
		strings.Repeat("ü", 60):       strings.Repeat("ü", 50) + "…",
	} {
		if got := mcp.Words(text, 100); got != want {
			t.Errorf("visible of %q is %q, want %q", text, got, want)
		}
	}
	if got := mcp.Line("a\nb\r\u200bc", 100); got != "a b c" {
		t.Errorf("in one line it is %q", got)
	}
}

package exchange_test

import (
	"strings"
	"testing"

	"dragoman/sessions/exchange"
)

// Half of a character becomes U+FFFD, and that is said; whole ones do not.
func TestHalvesAreNoted(t *testing.T) {
	t.Parallel()
	for text, note := range map[string]bool{
		`a\ud800`: true, `\ud800b`: true, `\udc00`: true, `\ud83d\ud83d\ude00`: true, `\ud800\u0041`: true, `\ud800\\udc00`: true,
		`\ud83d\ude00`: false, `\\ud800`: false, `\\\\ud800`: false, `\u00e9 \ufffd`: false, `\"`: false, ``: false,
	} {
		r, err := exchange.NewReader(strings.NewReader(`{"key":"x:1","messages":[{"role":"user","content":"`+text+`"}]}`), exchange.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(r); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		want := ""
		if note {
			want = "message 1 has half of a character (a lone surrogate), which became U+FFFD"
		}
		if got := strings.Join(r.Notes(), "\n"); got != want {
			t.Errorf("%s: notes = %q, want %q", text, got, want)
		}
	}
}

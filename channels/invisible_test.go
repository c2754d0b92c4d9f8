package channels_test

import (
	"testing"

	"dragoman/channels"
)

func TestInvisible(t *testing.T) {
	for _, text := range []string{"", " \n\t", "\u200b", "\u200b \u200d\ufeff", "\u2800\u2800", "\u3164", "\u00a0\u2003", "\ufe0f", "\u202e\u202c", "\u0301", "\u00ad", "\x00\x07"} {
		if !channels.Invisible(text) {
			t.Errorf("Invisible(%q) = false, want true", text)
		}
	}
	for _, text := range []string{"a", "?", ".", "\u200b.\u200b", "\U0001F44D", "\u2764\ufe0f", "e\u0301", "\u0e01\u0e34", "\u5b57", "1", "\ufffd", "$"} {
		if channels.Invisible(text) {
			t.Errorf("Invisible(%q) = true, want false", text)
		}
	}
}

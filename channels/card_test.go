package channels_test

import (
	"strings"
	"testing"

	"dragoman/channels"

	"github.com/google/go-cmp/cmp"
)

func TestCardFields(t *testing.T) {
	for card, want := range map[string][]string{
		"":                                nil,
		"BEGIN:VCARD\nFN:Ann\nEND:VCARD":  nil,
		"TEL;type=CELL:+1555\nTEL:+1555":  {"+1555"},
		"item1.TEL;waid=1555:+1 555\r\n":  {"+1 555"},
		"EMAIL:a@example.org\nORG:A\\, B": {"a@example.org", "A, B"},
		"ADR;HOME:;;1 Main St;Town;;;":    {"1 Main St Town"},
		"NOTE:one\n two":                  {"onetwo"},
		"NOTE:one\r\n\ttwo\n\tthree":      {"onetwothree"},
		"tel;x:tel:+1\nPHOTO:AAAA":        {"+1"},
		strings.Repeat("TEL:1\nURL:2\n", 9) + "TEL:3\nTEL:4\nTEL:5\nTEL:6\nTEL:7\nTEL:8\nTEL:9\nTEL:10\nTEL:11\nTEL:12\nTEL:13": {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"},
	} {
		if diff := cmp.Diff(want, channels.CardFields(card)); diff != "" {
			t.Errorf("CardFields(%q) (-want +got):\n%s", card, diff)
		}
	}
}

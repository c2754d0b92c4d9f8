package channels_test

import (
	"testing"

	"dragoman/channels"
)

func TestPattern(t *testing.T) {
	for _, test := range []struct {
		pattern channels.Pattern
		key     string
		want    bool
	}{
		{"telegram", "telegram:42", true},
		{"telegram", "telegram2:42", false},
		{"telegram:42", "telegram:42", true},
		{"telegram:42", "telegram:421", false},
		{"telegram:-100:*", "telegram:-100:7", true},
		{"telegram:-100:*", "telegram:-1001:7", false},
		{"telegram:*", "telegram:42", true},
		{"", "telegram:42", false},
	} {
		if got := test.pattern.Matches(channels.MustKey(test.key)); got != test.want {
			t.Errorf("%q matches %s: %v, want %v", test.pattern, test.key, got, test.want)
		}
	}
	for pattern, want := range map[channels.Pattern]string{"telegram": "", "telegram:42": "telegram:42", "telegram:*": "", "telegram:4*": ""} {
		if got := pattern.Key().String(); got != want {
			t.Errorf("the chat of %q is %q, want %q", pattern, got, want)
		}
	}
}

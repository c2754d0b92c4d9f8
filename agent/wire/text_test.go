package wire_test

import (
	"encoding/json"
	"testing"

	"dragoman/agent/wire"
)

// FuzzAppendString: a string is read back as encoding/json would have written it.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{
		"", "plain words", `a "quote" and a \ backslash`, "line\nfeed\r\ttab", "\x00\x1f\x7f", "naïve 日本 🎉", "cut \xe6\x97", "\xff\xfe", "\ufffd itself", "<b>&amp;</b>", "\u2028\u2029", "not \x85 UTF-8 in many words",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		written, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got, want string
		if err := json.Unmarshal(wire.AppendString(nil, s), &got); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if err := json.Unmarshal(written, &want); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", s, got, want)
		}
	})
}

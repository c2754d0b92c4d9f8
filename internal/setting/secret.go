package setting

import (
	"fmt"
	"io"
	"strconv"
)

// Secret is text that must not be shown. Printed, encoded or logged, it reads
// "<secret>", or "" when it is empty; only Reveal returns the text. It holds a
// pointer because package fmt prints unexported fields of a struct without calling
// their methods.
type Secret struct{ text *string }

const hidden = "<secret>"

// NewSecret hides text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// AbsentSecret is a secret that the file names and that is not on this machine now:
// its text is empty, and still it is set.
func AbsentSecret() Secret { return Secret{new(string)} }

// Reveal returns the text. Pass it straight to the code that needs it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no text: the secret is not set, or it is absent.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// IsSet reports whether the configuration sets the secret, be it absent or not.
func (s Secret) IsSet() bool { return s.text != nil }

// String hides the text.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return hidden
}

// Format hides the text from every verb of package fmt, %x and %d included.
func (s Secret) Format(f fmt.State, verb rune) {
	out := s.String()
	if verb == 'q' || (verb == 'v' && f.Flag('#')) {
		out = strconv.Quote(out)
	}
	_, _ = io.WriteString(f, out)
}

// MarshalText hides the text from JSON, YAML and logs.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

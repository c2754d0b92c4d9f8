package config

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Secret is text that must not be shown. However it is printed, encoded or
// logged it reads "<secret>", or "" when it is empty; only Reveal returns it.
// The text stands behind a pointer because package fmt prints the unexported
// fields of a struct around it without asking its methods.
type Secret struct{ text *string }

const hidden = "<secret>"

// absentSecret is one that is not there and need not be: see
// [Options.NoSecrets].
var absentSecret = Secret{new(string)}

// NewSecret hides text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal is the only way to the text itself. Hand it straight to what needs it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no secret, or an absent one.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// unset reports whether the configuration has no such secret, not even an absent
// one.
func (s Secret) unset() bool { return s.text == nil }

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

// Duration is a time span, written like "30m" or "1h30m".
type Duration time.Duration

// D is d as the standard library has it.
func (d Duration) D() time.Duration { return time.Duration(d) }

// String is the shortest usual form: "30m", not "30m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalYAML writes the form of String.
func (d Duration) MarshalYAML() (any, error) { return d.String(), nil }

// Threshold is a number that something starts at, or 0, which is written "none".
type Threshold int

// String is the form in which t is written.
func (t Threshold) String() string {
	if t == 0 {
		return "none"
	}
	return strconv.Itoa(int(t))
}

// MarshalYAML writes a number, or the word for none.
func (t Threshold) MarshalYAML() (any, error) {
	if t == 0 {
		return t.String(), nil
	}
	return int(t), nil
}

func parseThreshold(text string) (Threshold, error) {
	if text == Threshold(0).String() {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return Threshold(n), err
}

// Size is a number of bytes, written like 4096, "256KiB" or "1MB",
// which is 1,000,000.
type Size int64

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3}, {"B", 1}, {"", 1}}

// String uses the largest unit that divides s.
func (s Size) String() string {
	for _, u := range sizeUnits[:3] {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalYAML writes the form of String.
func (s Size) MarshalYAML() (any, error) { return s.String(), nil }

var errSize = errors.New("not a size")

func parseSize(text string) (Size, error) {
	for _, u := range sizeUnits {
		number, found := strings.CutSuffix(text, u.suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > (1<<40)/u.bytes {
			return 0, errSize
		}
		return Size(n * u.bytes), nil
	}
	return 0, errSize
}

// kind is how one type of value is called, written and read.
type kind struct {
	name, want string
	set        func(v reflect.Value, text string) error
}

var kinds = map[reflect.Type]kind{
	secretType:                   {"secret", "text", nil},
	reflect.TypeFor[string]():    {"text", "text", parsed(func(s string) (string, error) { return s, nil })},
	reflect.TypeFor[bool]():      {"true or false", "true or false", parsed(parseBool)},
	reflect.TypeFor[float64]():   {"number", "a number, like 0.7", parsed(func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })},
	reflect.TypeFor[Size]():      {"size", "a size, like 4096 or 256KiB", parsed(parseSize)},
	reflect.TypeFor[Threshold](): {"whole number or none", "a whole number, like 10, or none", parsed(parseThreshold)},
	reflect.TypeFor[int](): {"whole number", "a whole number, like 10", parsed(func(s string) (int, error) {
		n, err := strconv.ParseInt(s, 10, 32)
		return int(n), err
	})},
	reflect.TypeFor[Duration](): {"duration", "a time span, like 30s, 10m or 24h", parsed(func(s string) (Duration, error) {
		n, err := time.ParseDuration(s)
		return Duration(n), err
	})},
}

// parsed sets a value only if its text could be read, so that no half-read
// value causes a second, misleading problem.
func parsed[T any](parse func(string) (T, error)) func(reflect.Value, string) error {
	return func(v reflect.Value, text string) error {
		value, err := parse(text)
		if err == nil {
			v.Set(reflect.ValueOf(value))
		}
		return err
	}
}

// parseBool knows two words only: that "yes" or "1" count elsewhere is a trap.
func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, strconv.ErrSyntax
	}
	return s == "true", nil
}

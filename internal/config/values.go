package config

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"dragoman/agent/window"
)

// Secret is text that must not be shown. Printed, encoded or logged, it reads
// "<secret>", or "" when it is empty; only Reveal returns the text. It holds a
// pointer because package fmt prints unexported fields of a struct without calling
// their methods.
type Secret struct{ text *string }

const hidden = "<secret>"

// absentSecret is a missing secret that [Options.NoSecrets] allows.
var absentSecret = Secret{new(string)}

// NewSecret hides text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the text. Pass it straight to the code that needs it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no secret, or an absent one.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// unset reports whether the configuration does not set the secret. A missing one
// that NoSecrets allows is set.
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

// D is d as a time.Duration.
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

func parseThreshold(text string) (window.Threshold, error) {
	if text == window.Threshold(0).String() {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return window.Threshold(n), err
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

// kind has the name of a type of value, what to write, and how to read it.
type kind struct {
	name, want string
	set        func(v reflect.Value, text string) error
}

var text = kind{"text", "text", parsed(func(s string) (string, error) { return s, nil })}

var kinds = map[reflect.Type]kind{
	secretType:                          {"secret", "text", nil},
	reflect.TypeFor[string]():           text,
	reflect.TypeFor[window.When]():      text,
	reflect.TypeFor[window.Unit]():      text,
	reflect.TypeFor[window.Render]():    text,
	reflect.TypeFor[window.Format]():    text,
	reflect.TypeFor[bool]():             {"true or false", "true or false", parsed(parseBool)},
	reflect.TypeFor[float64]():          {"number", "a number, like 0.7", parsed(func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })},
	reflect.TypeFor[Size]():             {"size", "a size, like 4096 or 256KiB", parsed(parseSize)},
	reflect.TypeFor[window.Threshold](): {"whole number or none", "a whole number, like 10, or none", parsed(parseThreshold)},
	reflect.TypeFor[int](): {"whole number", "a whole number, like 10", parsed(func(s string) (int, error) {
		n, err := strconv.ParseInt(s, 10, 32)
		return int(n), err
	})},
	reflect.TypeFor[Duration](): {"duration", "a time span, like 30s, 10m or 24h", parsed(func(s string) (Duration, error) {
		n, err := time.ParseDuration(s)
		return Duration(n), err
	})},
}

// parsed sets a value only if its text could be read, so that a half-read value
// does not cause a second, misleading problem.
func parsed[T any](parse func(string) (T, error)) func(reflect.Value, string) error {
	return func(v reflect.Value, text string) error {
		value, err := parse(text)
		if err == nil {
			v.Set(reflect.ValueOf(value).Convert(v.Type()))
		}
		return err
	}
}

// parseBool accepts only true and false. YAML versions disagree about "yes" and "1".
func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, strconv.ErrSyntax
	}
	return s == "true", nil
}

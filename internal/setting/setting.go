// Package setting has what structs of settings are made of: types of values that YAML
// has no form for, and forms that texts must have. The structs themselves are where
// their settings are used; internal/config reads them.
//
// The promise: nothing that prints, encodes or logs a [Secret] shows its text. What a
// [Form] says about a text never repeats that text, except in the place of "%s", which
// the caller fills in or leaves out.
//
// The package knows nothing of the house, so that any package that has settings may
// import it. Its values are plain ones, which several goroutines may read; it starts no
// goroutines.
package setting

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

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

var errSize = errors.New("setting: not a size")

// ParseSize reads a size of at most 1 TiB.
func ParseSize(text string) (Size, error) {
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

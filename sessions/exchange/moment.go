package exchange

import (
	"encoding/json"
	"math"
	"strings"
	"time"
)

// moment reads a time as programs write it; zero if it is none.
func moment(raw json.RawMessage) time.Time {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return parseTime(text)
	}
	var seconds float64
	if json.Unmarshal(raw, &seconds) == nil {
		return unixTime(seconds)
	}
	return time.Time{}
}

// parseTime reads what Go, Python, JavaScript and SQLite write. A time without
// a zone is taken as UTC.
func parseTime(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// unixTime takes seconds, or parts of them where seconds would be far ahead:
// milliseconds, microseconds or nanoseconds.
func unixTime(n float64) time.Time {
	for range 3 {
		if n > 1e11 {
			n /= 1000
		}
	}
	if n <= 0 || n > 253402300799 || math.IsNaN(n) {
		return time.Time{}
	}
	whole, part := math.Modf(n)
	return time.Unix(int64(whole), int64(part*1e6)*1000).UTC()
}

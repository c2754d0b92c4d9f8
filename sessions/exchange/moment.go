package exchange

import (
	"encoding/json"
	"math"
	"strings"
	"time"
)

// moment reads a time as programs write it; zero if it is none. Go, Python,
// JavaScript and SQLite write texts; one without a zone is taken as UTC. Numbers are
// seconds, or parts of them where seconds would be far ahead: milliseconds,
// microseconds or nanoseconds.
func moment(raw json.RawMessage) time.Time {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", time.DateTime} {
			if t, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
				return t.UTC()
			}
		}
		return time.Time{}
	}
	var n float64
	_ = json.Unmarshal(raw, &n) // what is no number is 0
	for range 3 {
		if n > 1e11 {
			n /= 1000
		}
	}
	if n <= 0 || n > 253402300799 {
		return time.Time{}
	}
	whole, part := math.Modf(n)
	return time.Unix(int64(whole), int64(part*1e6)*1000).UTC()
}

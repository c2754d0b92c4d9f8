package heartbeat

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// hours is a part of the day on the clocks of a zone, from (inclusive) to
// (exclusive) in minutes since midnight. from > to crosses midnight.
type hours struct {
	from, to int
	zone     *time.Location
	text     string
}

// parseHours reads "08:00-22:00". An empty text is the whole day.
func parseHours(text string, zone *time.Location) (hours, error) {
	h := hours{to: 24 * 60, zone: zone, text: strings.TrimSpace(text)}
	if h.text == "" {
		return h, nil
	}
	from, to, found := strings.Cut(h.text, "-")
	var err1, err2 error
	h.from, err1 = parseMinute(from)
	h.to, err2 = parseMinute(to)
	switch {
	case !found || err1 != nil || err2 != nil || h.from == 24*60:
		return hours{}, fmt.Errorf("active hours %q: want two times of day, like 08:00-22:00", text)
	case h.from == h.to:
		return hours{}, fmt.Errorf("active hours %q: they begin when they end; leave them out for the whole day", text)
	}
	return h, nil
}

// parseMinute reads a time of day as minutes since midnight; 24:00 is one.
func parseMinute(text string) (int, error) {
	text = strings.TrimSpace(text)
	if text == "24:00" {
		return 24 * 60, nil
	}
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, errors.New("not a time of day")
	}
	return t.Hour()*60 + t.Minute(), nil
}

// contain reports whether the clocks show a time in h at t.
func (h hours) contain(t time.Time) bool {
	t = t.In(h.zone)
	minute := t.Hour()*60 + t.Minute()
	if h.from < h.to {
		return h.from <= minute && minute < h.to
	}
	return h.from <= minute || minute < h.to
}

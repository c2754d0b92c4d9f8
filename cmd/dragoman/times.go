package main

import (
	"strconv"
	"time"
)

// timeForms are how people write a time; the first names a whole day.
var timeForms = []string{
	time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", time.DateTime,
	time.RFC3339Nano, "2006-01-02T15:04Z07:00",
}

const timeExamples = "2026-11-01, 2026-11-01T10:00 or 2026-11-01T10:00:00+01:00"

// parseTime reads a time, in the local zone if it names none. A day without a
// time begins at midnight, and next is the midnight after it; otherwise next
// equals at.
func parseTime(s string) (at, next time.Time, known bool) {
	for i, form := range timeForms {
		at, err := time.ParseInLocation(form, s, time.Local)
		if err != nil || at.Year() < 1 {
			continue
		}
		if i == 0 {
			return at, at.AddDate(0, 0, 1), true
		}
		return at, at, true
	}
	return at, next, false
}

// timeFlag reads the value of a flag, "" as the zero time. last asks for the end
// of a day.
func timeFlag(name, value string, last bool) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	at, next, known := parseTime(value)
	if !known {
		return at, &usageError{name + " wants a time like " + timeExamples}
	}
	if last {
		return next, nil
	}
	return at, nil
}

// borderFlag reads the number of a message or a time, and returns it in the form
// of httpapi.Bounds.
func borderFlag(name, value string) (string, error) {
	if n, err := strconv.ParseInt(value, 10, 64); value == "" || err == nil && n >= 0 {
		return value, nil
	}
	at, _, known := parseTime(value)
	if !known {
		return "", &usageError{name + " wants the number of a message, or a time like " + timeExamples}
	}
	return at.Format(time.RFC3339Nano), nil
}

package heartbeat

import "time"

// Next is when a job is due first after t, zero if never.
func Next(j Job, t time.Time) (time.Time, error) {
	e, err := compile(j, time.UTC)
	if err != nil {
		return time.Time{}, err
	}
	return e.times.next(t), nil
}

// Last is the newest due time up to now, and how many there are.
func Last(j Job, due, now time.Time) (time.Time, int, error) {
	e, err := compile(j, time.UTC)
	if err != nil {
		return time.Time{}, 0, err
	}
	newest, count := newestDue(e.times, due, now)
	return newest, count, nil
}

// IsBlank reports whether a prompt file asks for nothing.
func IsBlank(text string) bool { return isBlank(text) }

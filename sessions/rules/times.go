package rules

import "time"

// firstMoment and LastMoment bound the times that stores keep: the whole years whose
// nanoseconds fit into 64 bits.
var (
	firstMoment = time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC)
	LastMoment  = time.Date(2261, 12, 31, 23, 59, 59, 999999999, time.UTC)
)

// Time makes t storable, and the same in every store. A time before 1678 or after 2261,
// from a broken clock or another calendar, becomes the nearest one in range, so that the
// order is kept and "never" is not due at once. The zero time does not change. The
// monotonic part is dropped; the zone becomes UTC.
func Time(t time.Time) time.Time {
	t = t.UTC().Round(0)
	switch {
	case t.IsZero():
		return time.Time{}
	case t.Before(firstMoment):
		return firstMoment
	case t.After(LastMoment):
		return LastMoment
	}
	return t
}

// Latest returns the later of two times.
func Latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Earliest returns the earlier of two times, of which a zero one does not count.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

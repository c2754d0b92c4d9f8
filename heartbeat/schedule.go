package heartbeat

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"
	_ "time/tzdata" // A small Debian has no zone files; a job's time zone must exist all the same.

	"github.com/robfig/cron/v3"
)

// timetable says when a job is due.
type timetable interface {
	// next is the first due time after t, in whole seconds; zero if there is none.
	next(t time.Time) time.Time
	// replan reports when the job should be due, seen from now, though it is
	// planned for planned, which lies ahead. It returns planned where nothing
	// has changed.
	replan(planned, now time.Time) time.Time
}

// interval is due every so often. Due times are anchored to the one before,
// so a restart neither delays nor repeats one.
type interval time.Duration

func (i interval) next(t time.Time) time.Time { return t.Add(time.Duration(i)) }

// replan brings a time near that lies further ahead than the interval: the
// interval was made shorter, or the clock was set back. The minute is for
// clocks that are set right by a little all day long.
func (i interval) replan(planned, now time.Time) time.Time {
	if soon := i.next(now); planned.After(soon.Add(time.Minute)) {
		return wholeSecond(soon)
	}
	return planned
}

// calendar is due at times of day in a time zone.
//
// What a change of the clocks does depends on the hour field. With "*" the
// job follows real time: nothing happens in an hour that does not exist, and
// an hour that comes twice counts twice. With anything else the job is meant
// for times of day: each of them is due once, the first time it comes, and one
// that does not exist is due when the clocks have jumped over it.
type calendar struct {
	cron  cron.Schedule // evaluated on wall clocks without changes only
	zone  *time.Location
	hours bool // the hour field is "*"
}

var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// parseCron reads five fields or a descriptor like @daily.
func parseCron(spec string, zone *time.Location) (calendar, error) {
	spec = strings.TrimSpace(spec)
	switch {
	case strings.HasPrefix(spec, "TZ=") || strings.HasPrefix(spec, "CRON_TZ="):
		return calendar{}, errors.New("the time zone belongs into time_zone")
	case strings.HasPrefix(spec, "@every"):
		return calendar{}, errors.New(`write an interval as "every" instead of cron`)
	}
	schedule, err := cronParser.Parse(spec)
	if err != nil {
		return calendar{}, fmt.Errorf("%w (want minute hour day month weekday, like 0 8 * * 1-5; Sunday is 0)", err)
	}
	fields := strings.Fields(spec)
	return calendar{cron: schedule, zone: zone, hours: spec == "@hourly" || len(fields) == 5 && fields[1] == "*"}, nil
}

func (c calendar) next(t time.Time) time.Time {
	if c.hours {
		return c.nextReal(t)
	}
	return c.nextWall(t)
}

func (c calendar) replan(planned, now time.Time) time.Time {
	// Normally nothing lies between now and planned, and planned is on the
	// calendar. Otherwise the calendar is another one, or the clock was set
	// back; the store refuses an occurrence that already happened.
	return c.next(now)
}

// nextReal walks through the stretches of time in which the zone's offset
// stays the same; within one a wall clock is exact.
func (c calendar) nextReal(t time.Time) time.Time {
	stretch := t.In(c.zone)
	for range 64 { // more changes of the clocks than in the years that cron looks ahead
		_, offset := stretch.Zone()
		_, end := stretch.ZoneBounds()
		due := c.cron.Next(t.In(time.FixedZone("", offset)))
		if due.IsZero() || end.IsZero() || due.Before(end) {
			return wholeSecond(due)
		}
		stretch, t = end.In(c.zone), end.Add(-time.Second)
	}
	return time.Time{}
}

// nextWall evaluates the expression on a wall clock that knows no changes,
// and asks when the real one shows that time for the first time.
func (c calendar) nextWall(t time.Time) time.Time {
	here := t.In(c.zone)
	wall := time.Date(here.Year(), here.Month(), here.Day(), here.Hour(), here.Minute(), here.Second(), 0, time.UTC)
	for {
		if wall = c.cron.Next(wall); wall.IsZero() {
			return time.Time{}
		}
		if due := firstShown(wall, c.zone); due.After(t) {
			return wholeSecond(due)
		}
	}
}

// firstShown is when the clocks in zone show wall for the first time, or, if
// they jump over it, the moment they do.
func firstShown(wall time.Time, zone *time.Location) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	start, end := t.ZoneBounds()
	_, offset := t.Zone()
	switch shown := t.Unix() + int64(offset) - wall.Unix(); {
	case shown > 0: // t lies after the gap
		return start
	case shown < 0: // t lies before it
		return end
	}
	if start.IsZero() {
		return t
	}
	// The clocks may have shown it already before they were last set back.
	_, before := start.Add(-time.Second).In(zone).Zone()
	if earlier := t.Add(time.Duration(offset-before) * time.Second); earlier.Before(start) {
		return earlier
	}
	return t
}

// countMost bounds how many missed occurrences are counted one by one.
const countMost = 1000

// last is the newest due time that is not after now, given due, one that is
// not after now either, and how many there are from due up to it, at most
// countMost.
func last(tt timetable, due, now time.Time) (newest time.Time, count int) {
	if i, ok := tt.(interval); ok {
		n := now.Sub(due) / time.Duration(i)
		return due.Add(n * time.Duration(i)), int(min(n, countMost-1)) + 1
	}
	ahead := func(t time.Time) bool { return t.IsZero() || t.After(now) }
	newest, count = due, 1
	for ; count < countMost; count++ {
		after := tt.next(newest)
		if ahead(after) {
			return newest, count
		}
		newest = after
	}
	// The newest is the first second after which nothing else is due.
	more := sort.Search(int(now.Sub(newest)/time.Second), func(i int) bool { return ahead(tt.next(newest.Add(time.Duration(i) * time.Second))) })
	return newest.Add(time.Duration(more) * time.Second), count
}

// wholeSecond is t as the store keeps it, without what a due time's id cannot
// show. Zero stays zero.
func wholeSecond(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

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

package heartbeat

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"
	_ "time/tzdata" // a small Debian has no zone files

	"github.com/robfig/cron/v3"
)

// timetable says when a job is due: at a distance, or by a calendar.
type timetable interface {
	// next is the first due time after t, in whole seconds; zero if there is none.
	next(t time.Time) time.Time
	// replan is when a job should be due that is planned for planned, a time
	// after now. It returns planned if nothing has changed.
	replan(planned, now time.Time) time.Time
}

// interval is due at regular distances. Due times are anchored to the one
// before, so a restart neither delays nor repeats one.
type interval time.Duration

func (i interval) next(t time.Time) time.Time { return t.Add(time.Duration(i)) }

// replan brings a time nearer that is further ahead than the interval, because
// the interval was made shorter or the clock was set back. The minute is for
// clocks that are corrected a little all day long.
func (i interval) replan(planned, now time.Time) time.Time {
	if soon := i.next(now); planned.After(soon.Add(time.Minute)) {
		return wholeSecond(soon)
	}
	return planned
}

// calendar is due at times of day in a time zone.
//
// The hour field decides how a change of the clocks is treated. With "*" the
// job follows real time: an hour that does not exist has no occurrences, and an
// hour that comes twice has twice as many. With anything else the job is meant
// for times of day: each is due once, the first time it comes, and one that
// does not exist is due when the clocks have jumped over it.
type calendar struct {
	cron     cron.Schedule // only evaluated on wall clocks without changes
	zone     *time.Location
	realTime bool // the hour field is "*"
}

var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// parseCron reads five fields or a descriptor like @daily.
func parseCron(spec string, zone *time.Location) (calendar, error) {
	spec = strings.TrimSpace(spec)
	switch {
	case strings.HasPrefix(spec, "TZ=") || strings.HasPrefix(spec, "CRON_TZ="):
		return calendar{}, errors.New("write the time zone as time_zone")
	case strings.HasPrefix(spec, "@every"):
		return calendar{}, errors.New(`write an interval as "every" instead of cron`)
	}
	spec = sundayAsZero(spec)
	if err := backwards(spec); err != nil {
		return calendar{}, err
	}
	schedule, err := cronParser.Parse(spec)
	if err != nil {
		return calendar{}, fmt.Errorf("%w (want minute hour day month weekday, like 0 8 * * 1-5; Sunday is 0 or 7)", err)
	}
	fields := strings.Fields(spec)
	return calendar{cron: schedule, zone: zone, realTime: spec == "@hourly" || len(fields) == 5 && fields[1] == "*"}, nil
}

func (c calendar) next(t time.Time) time.Time {
	if c.realTime {
		return c.nextReal(t)
	}
	return c.nextWall(t)
}

func (c calendar) replan(planned, now time.Time) time.Time {
	// Normally planned is the first due time after now. Otherwise the calendar
	// has changed, or the clock was set back; the store refuses an occurrence
	// that already happened.
	return c.next(now)
}

// nextReal goes through the stretches of time with one offset of the zone.
// Within a stretch a wall clock is exact.
func (c calendar) nextReal(t time.Time) time.Time {
	stretch := t.In(c.zone)
	for range 64 { // more clock changes than in the years that cron looks ahead
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

// nextWall evaluates the expression on a wall clock without changes, and
// returns when the real clock shows that time for the first time.
func (c calendar) nextWall(t time.Time) time.Time {
	here := t.In(c.zone)
	wall := time.Date(here.Year(), here.Month(), here.Day(), here.Hour(), here.Minute(), here.Second(), 0, time.UTC)
	for {
		wall = c.cron.Next(wall)
		if wall.IsZero() {
			return time.Time{}
		}
		if due := FirstShown(wall, c.zone); due.After(t) {
			return wholeSecond(due)
		}
	}
}

// FirstShown is when the clocks in zone show wall for the first time, or the
// moment when they jump over it.
func FirstShown(wall time.Time, zone *time.Location) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	start, end := t.ZoneBounds()
	_, offset := t.Zone()
	switch shown := t.Unix() + int64(offset) - wall.Unix(); {
	case shown > 0: // t is after the gap
		return start
	case shown < 0: // t is before it
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

// maxCount bounds how many missed occurrences are counted one by one.
const maxCount = 1000

// newestDue returns the newest due time that is not after now, and the number of
// due times from due up to it, at most maxCount. due is not after now either.
func newestDue(tt timetable, due, now time.Time) (newest time.Time, count int) {
	if i, ok := tt.(interval); ok {
		n := now.Sub(due) / time.Duration(i)
		return due.Add(n * time.Duration(i)), int(min(n, maxCount-1)) + 1
	}
	ahead := func(t time.Time) bool { return t.IsZero() || t.After(now) }
	newest, count = due, 1
	for ; count < maxCount; count++ {
		after := tt.next(newest)
		if ahead(after) {
			return newest, count
		}
		newest = after
	}
	// The newest is the first second with no due time after it, up to now.
	more := sort.Search(int(now.Sub(newest)/time.Second), func(i int) bool { return ahead(tt.next(newest.Add(time.Duration(i) * time.Second))) })
	return newest.Add(time.Duration(more) * time.Second), count
}

// wholeSecond is t in the store's precision, which the id of an occurrence can
// show. Zero stays zero.
func wholeSecond(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// activeHours is a part of the day in a zone, from (inclusive) to (exclusive)
// in minutes since midnight. from > to crosses midnight.
type activeHours struct {
	from, to int
	zone     *time.Location
	text     string
}

// parseActiveHours reads "08:00-22:00". An empty text is the whole day.
func parseActiveHours(text string, zone *time.Location) (activeHours, error) {
	h := activeHours{to: 24 * 60, zone: zone, text: strings.TrimSpace(text)}
	if h.text == "" {
		return h, nil
	}
	from, to, found := strings.Cut(h.text, "-")
	var err1, err2 error
	h.from, err1 = parseMinute(from)
	h.to, err2 = parseMinute(to)
	switch {
	case !found || err1 != nil || err2 != nil || h.from == 24*60:
		return activeHours{}, fmt.Errorf("active hours %q: want two times of day, like 08:00-22:00", text)
	case h.from == h.to:
		return activeHours{}, fmt.Errorf("active hours %q: they begin when they end; leave them out for the whole day", text)
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
func (h activeHours) contain(t time.Time) bool {
	t = t.In(h.zone)
	minute := t.Hour()*60 + t.Minute()
	if h.from < h.to {
		return h.from <= minute && minute < h.to
	}
	return h.from <= minute || minute < h.to
}

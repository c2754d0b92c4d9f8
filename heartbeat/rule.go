package heartbeat

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

// Rule says when something repeats, in the words of a calendar. Its JSON is stored.
type Rule struct {
	// Freq is daily, weekly, monthly or yearly.
	Freq string `json:"freq"`
	// Interval is 2 for every other day, week, month or year. 0 is 1.
	Interval int `json:"interval,omitempty"`
	// Days depend on Freq. Weekly: mo, tu, we, th, fr, sa, su. Monthly and yearly: days of
	// the month (15; -1 is the last) or weekdays of the month (2mo; -1fr is the last Friday).
	// Those of a yearly rule are in the month in which it begins. Empty: the day on which
	// it begins. Daily rules have none.
	Days []string `json:"days,omitempty"`
	// Times are times of day, like 16:00; 1 to 24 of them.
	Times []string `json:"times"`
	// Until is the last day, like 2027-06-30, and Count how many occurrences there are, at
	// most 1000. Only one of them may be set; without both it never ends.
	Until string `json:"until,omitempty"`
	Count int    `json:"count,omitempty"`
}

// Limits of a Rule.
const (
	maxRuleTimes = 24
	maxRuleDays  = 31
	maxRuleCount = 1000
)

// frequency is what a rule may be repeated by.
type frequency struct {
	name string // as it is written
	freq rrule.Frequency
	unit string // for people
	most int    // the greatest interval
}

var frequencies = []frequency{
	{"daily", rrule.DAILY, "day", 1000},
	{"weekly", rrule.WEEKLY, "week", 200},
	{"monthly", rrule.MONTHLY, "month", 60},
	{"yearly", rrule.YEARLY, "year", 10},
}

// frequency finds the frequency of r.
func (r Rule) frequency() (frequency, error) {
	at := slices.IndexFunc(frequencies, func(f frequency) bool { return f.name == r.Freq })
	if at < 0 {
		return frequency{}, fmt.Errorf("freq %.40q: want daily, weekly, monthly or yearly", r.Freq)
	}
	return frequencies[at], nil
}

// repetition is a rule that was checked, in a zone. The dates are those of RFC 5545,
// evaluated on a wall clock without changes; when the real clock shows them is decided by
// FirstShown. It is immutable.
type repetition struct {
	dates rrule.ROption   // midnights in UTC
	times []time.Duration // since midnight, ascending
	from  time.Time       // only what is due after it counts
	until time.Time       // a wall clock in UTC, exclusive; zero: it never ends
	count int             // 0: it never ends
	zone  *time.Location
}

// compile checks r, which begins after from. The interval is counted from the first day
// that fits, so "every other Monday" begins with the next Monday. It costs some
// milliseconds at most, also for a rule that no day fits; such a rule is an error.
func (r Rule) compile(from time.Time, zone *time.Location) (*repetition, error) {
	f, err := r.frequency()
	if err != nil {
		return nil, err
	}
	start := wallClock(from, zone)
	c := &repetition{from: from, count: r.Count, zone: zone}
	c.dates = rrule.ROption{Freq: f.freq, Dtstart: midnight(start), Interval: 1, Wkst: rrule.MO}
	if r.Interval < 0 || r.Interval > f.most {
		return nil, fmt.Errorf("interval %d: want 1 to %d for a rule that is %s", r.Interval, f.most, f.name)
	}
	c.times, err = r.readTimes()
	if err != nil {
		return nil, err
	}
	err = r.readDays(&c.dates)
	if err != nil {
		return nil, err
	}
	err = r.readEnd(c, start)
	if err != nil {
		return nil, err
	}
	_, first := c.next(from)
	if first.IsZero() {
		return nil, errNever
	}
	if r.Interval > 1 {
		c.dates.Dtstart = midnight(first)
		c.dates.Interval = r.Interval
	}
	return c, nil
}

// readEnd reads Until and Count.
func (r Rule) readEnd(c *repetition, start time.Time) error {
	switch {
	case r.Count < 0 || r.Count > maxRuleCount:
		return fmt.Errorf("count %d: want 1 to %d; leave it out if there is no end", r.Count, maxRuleCount)
	case r.Until == "":
		return nil
	case r.Count > 0:
		return errors.New("both until and count say when it ends; write one of them")
	}
	last, err := time.Parse(time.DateOnly, r.Until)
	if err != nil {
		return fmt.Errorf("until %.40q: want a day, like 2027-06-30", r.Until)
	}
	if last.Before(midnight(start)) {
		return fmt.Errorf("until %s is over: it begins on %s", r.Until, start.Format(time.DateOnly))
	}
	c.until = last.AddDate(0, 0, 1)
	return nil
}

// readTimes reads Times.
func (r Rule) readTimes() (times []time.Duration, err error) {
	if len(r.Times) == 0 || len(r.Times) > maxRuleTimes {
		return nil, fmt.Errorf("%d times of day: want 1 to %d, like 16:00", len(r.Times), maxRuleTimes)
	}
	for _, text := range r.Times {
		t, err := time.Parse("15:04", strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("times %.40q: want a time of day, like 16:00", text)
		}
		times = append(times, time.Duration(t.Hour())*time.Hour+time.Duration(t.Minute())*time.Minute)
	}
	slices.Sort(times)
	return slices.Compact(times), nil
}

// weekdays are the days of a week as rules write them.
var weekdays = map[string]rrule.Weekday{
	"mo": rrule.MO, "tu": rrule.TU, "we": rrule.WE, "th": rrule.TH, "fr": rrule.FR, "sa": rrule.SA, "su": rrule.SU,
}

// weekdayNames are the days of a week for people, by the number that rrule gives them.
var weekdayNames = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}

// ruleDay reads one of Days: a number, a weekday, or both.
func ruleDay(text string) (n int, weekday string, ok bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	for name := range weekdays {
		if rest, found := strings.CutSuffix(text, name); found {
			text = rest
			weekday = name
			break
		}
	}
	if text == "" {
		return 0, weekday, weekday != ""
	}
	n, err := strconv.Atoi(text)
	return n, weekday, err == nil && n != 0
}

// readDays adds Days to dates.
func (r Rule) readDays(dates *rrule.ROption) error {
	if len(r.Days) > maxRuleDays {
		return fmt.Errorf("%d days: want at most %d", len(r.Days), maxRuleDays)
	}
	if dates.Freq == rrule.YEARLY {
		dates.Bymonth = []int{int(dates.Dtstart.Month())}
	}
	for _, text := range r.Days {
		n, weekday, ok := ruleDay(text)
		weekly := weekday != "" && n == 0
		switch {
		case !ok:
			return fmt.Errorf("days %.40q: want a weekday (mo), a day of the month (15, -1), or a weekday of the month (2mo, -1fr)", text)
		case dates.Freq == rrule.DAILY:
			return errors.New("a daily rule has no days; make it weekly")
		case dates.Freq == rrule.WEEKLY && !weekly:
			return fmt.Errorf("days %.40q: a weekly rule has weekdays alone, like mo", text)
		case dates.Freq != rrule.WEEKLY && weekly:
			return fmt.Errorf("days %.40q: say which %s of the month, like 1%s or -1%s, or make it weekly", text, weekday, weekday, weekday)
		case weekly:
			dates.Byweekday = append(dates.Byweekday, weekdays[weekday])
		case weekday != "" && (n > 5 || n < -5):
			return fmt.Errorf("days %.40q: a month has at most 5 of them", text)
		case weekday != "":
			day := weekdays[weekday]
			dates.Byweekday = append(dates.Byweekday, day.Nth(n))
		case n > 31 || n < -31:
			return fmt.Errorf("days %.40q: a month has at most 31 days", text)
		default:
			dates.Bymonthday = append(dates.Bymonthday, n)
		}
	}
	if len(dates.Bymonthday) > 0 && len(dates.Byweekday) > 0 {
		return errors.New("days has days of the month and weekdays; make two rules of them")
	}
	if dates.Freq == rrule.YEARLY && len(r.Days) == 0 {
		dates.Bymonthday = []int{dates.Dtstart.Day()}
	}
	return nil
}

// next is the first due time after t, in whole seconds, and what the clocks in the zone
// should show then, as a time in UTC. Both are zero if there is none.
func (c *repetition) next(t time.Time) (due, wall time.Time) {
	dates, err := rrule.NewRRule(c.dates)
	if err != nil {
		return time.Time{}, time.Time{} // readDays has checked the bounds
	}
	n := 0
	last := c.from
	date := dates.Iterator()
	for day, ok := date(); ok && day.Before(never); day, ok = date() {
		for _, at := range c.times {
			wall = day.Add(at)
			if !c.until.IsZero() && !wall.Before(c.until) {
				return time.Time{}, time.Time{}
			}
			due = FirstShown(wall, c.zone)
			if !due.After(last) {
				continue // before it begins, or two times that the clocks jump over at once
			}
			last = due
			n++
			if c.count > 0 && n > c.count {
				return time.Time{}, time.Time{}
			}
			if due.After(t) {
				return wholeSecond(due), wall
			}
		}
	}
	return time.Time{}, time.Time{}
}

// String is the rule in words: "every 2 weeks on Monday at 09:00".
func (r Rule) String() string {
	f, err := r.frequency()
	if err != nil {
		return "never"
	}
	text := "every " + f.unit
	if r.Interval > 1 {
		text = fmt.Sprintf("every %d %ss", r.Interval, f.unit)
	}
	var days []string
	for _, day := range r.Days {
		days = append(days, dayInWords(day))
	}
	if len(days) > 0 {
		text += " on " + list(days)
	}
	text += " at " + list(r.Times)
	switch {
	case r.Until != "":
		text += " until " + r.Until
	case r.Count > 0:
		text += fmt.Sprintf(", %d times", r.Count)
	}
	return text
}

// skipped says, after the words of a rule, that not each month or year has its days.
func (c *repetition) skipped() string {
	unit := "months"
	switch c.dates.Freq {
	case rrule.MONTHLY:
	case rrule.YEARLY:
		unit = "years"
	default:
		return ""
	}
	days := c.dates.Bymonthday
	if len(days)+len(c.dates.Byweekday) == 0 {
		days = []int{c.dates.Dtstart.Day()}
	}
	always := 28 // each month has as many days
	if unit == "years" && !slices.Equal(c.dates.Bymonth, []int{int(time.February)}) {
		always = 31 // of that month, or never
	}
	rare := slices.ContainsFunc(days, func(n int) bool { return max(n, -n) > always }) ||
		slices.ContainsFunc(c.dates.Byweekday, func(day rrule.Weekday) bool { return max(day.N(), -day.N()) > 4 })
	switch {
	case !rare:
		return ""
	case len(days)+len(c.dates.Byweekday) > 1:
		return " (days that a month does not have are skipped)"
	}
	return " (" + unit + " without that day are skipped)"
}

// dayInWords is one of Days for people: "the last Friday".
func dayInWords(text string) string {
	n, short, _ := ruleDay(text)
	name := "day"
	if short != "" {
		day := weekdays[short]
		name = weekdayNames[day.Day()]
	}
	switch {
	case n == 0:
		return name
	case n == -1:
		return "the last " + name
	case n < 0:
		return fmt.Sprintf("the %s %s from the end", ordinal(-n), name)
	}
	return "the " + ordinal(n) + " " + name
}

// ordinal is 1st, 2nd, 3rd, 4th.
func ordinal(n int) string {
	ending := "th"
	if n/10%10 != 1 && n%10 >= 1 && n%10 <= 3 {
		ending = []string{"st", "nd", "rd"}[n%10-1]
	}
	return strconv.Itoa(n) + ending
}

// list joins words: "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// wallClock is what the clocks in zone show at t, as a time in UTC.
func wallClock(t time.Time, zone *time.Location) time.Time {
	here := t.In(zone)
	return time.Date(here.Year(), here.Month(), here.Day(), here.Hour(), here.Minute(), here.Second(), 0, time.UTC)
}

// midnight is the beginning of the day of a wall clock in UTC.
func midnight(wall time.Time) time.Time { return wall.Truncate(24 * time.Hour) }

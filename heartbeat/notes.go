package heartbeat

import (
	"fmt"
	"strconv"
	"strings"
)

// Notes says, each in a sentence, what the cron of a valid job means where people often
// expect something else; nil if there is nothing of that kind.
func Notes(j Job) []string {
	fields := strings.Fields(sundayAsZero(j.Cron))
	if len(fields) != len(cronFields) {
		return nil
	}
	written := strings.Fields(j.Cron)
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for i := range cronFields {
		f := &cronFields[i]
		for item := range strings.SplitSeq(fields[i], ",") {
			if note := f.stepNote(item); note != "" {
				notes = append(notes, note)
			}
		}
	}
	if isRestricted(fields[1]) && (fields[0] == "*" || fields[0] == "*/1") {
		note("it runs each minute of these hours, 60 times an hour: for once an hour write a minute, like 0 %s", strings.Join(written[1:], " "))
	}
	if isRestricted(fields[2]) && isRestricted(fields[4]) {
		note("it runs on the days %s of the month and also on each weekday %s, not only where both meet", written[2], written[4])
		return notes
	}
	if without := shortMonths(fields[2], fields[3]); without != "" {
		note("it does not run in %s, without such a day", without)
	}
	return notes
}

// isRestricted reports whether a field excludes any value. The cron library takes a star
// with a step for a restriction.
func isRestricted(field string) bool { return field != "*" && field != "?" }

// stepNote says what an item like */45 or */90 means if its step does not divide the
// field, or leaves the field at once; "" if it does neither.
func (f *cronField) stepNote(item string) string {
	span, step, _ := strings.Cut(item, "/")
	by, err := strconv.Atoi(step)
	if err != nil || by < 2 {
		return ""
	}
	at := f.values(item)
	size := f.max - f.min + 1
	switch {
	case len(at) == 1 && f.unit == "minutes" && span == "*":
		return fmt.Sprintf("%s is not every %d minutes: it runs at %s; write every: %dm for that", item, by, f.listed(at), by)
	case len(at) == 1 && f.unit == "hours" && span == "*":
		return fmt.Sprintf("%s is not every %d hours: it runs at %s; write every: %dh for that", item, by, f.listed(at), by)
	case len(at) == 1:
		return fmt.Sprintf("the step of %s is larger than its range: of the %s it is due on %s alone", item, f.unit, f.text(at[0]))
	case span != "*" || f.min+size%by == f.min:
		return ""
	case f.unit == "days":
		return fmt.Sprintf("%s is not every %d days: it begins again on the 1st of each month", item, by)
	case f.names != nil:
		return fmt.Sprintf("%s is not every %d %s: it begins again with each %s", item, by, f.unit, f.text(f.min))
	}
	return fmt.Sprintf("%s is not every %d %s: it runs at %s", item, by, f.unit, f.listed(at))
}

// listed writes values for people: ":00 and :45 of the hour".
func (f *cronField) listed(at []int) string {
	form, unit, _ := strings.Cut(f.sign, " ")
	words := make([]string, len(at))
	for i, n := range at {
		words[i] = fmt.Sprintf(form, n)
	}
	return strings.TrimSpace(and(words) + " " + unit)
}

// and is "a, b and c".
func and(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// monthDays are the most days of each month, and monthNames what people call them.
var (
	monthDays  = [...]int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	monthNames = strings.Fields("January February March April May June July August September October November December")
)

// shortMonths names the months of a cron that have none of its days; "" if there are
// none.
func shortMonths(days, months string) string {
	if !isRestricted(days) {
		return ""
	}
	first := cronFields[2].values(days)[0]
	var without []string
	for _, m := range cronFields[3].values(months) {
		switch {
		case first > monthDays[m-1]:
			without = append(without, monthNames[m-1])
		case first == 29 && m == 2:
			without = append(without, "February of most years")
		}
	}
	return and(without)
}

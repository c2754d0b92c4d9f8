package heartbeat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// sundayAsZero writes a weekday 7, which many crons read as Sunday, as 0.
func sundayAsZero(spec string) string {
	fields := strings.Fields(spec)
	if len(fields) != 5 || !strings.Contains(fields[4], "7") {
		return spec
	}
	var days []string
	for item := range strings.SplitSeq(fields[4], ",") {
		days = append(days, expandSunday(item)...)
	}
	fields[4] = strings.Join(days, ",")
	return strings.Join(fields, " ")
}

// expandSunday lists the days of "7", "5-7" or "1-7/2"; anything else is one item.
func expandSunday(item string) []string {
	span, step, stepped := strings.Cut(item, "/")
	from, to, ranged := strings.Cut(span, "-")
	if !ranged {
		to = from
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	by := 1
	var err3 error
	if stepped {
		by, err3 = strconv.Atoi(step)
	}
	if err1 != nil || err2 != nil || err3 != nil || last != 7 || first < 0 || first > 7 || by < 1 {
		return []string{item}
	}
	var days []string
	for day := first; day <= last; day += by {
		days = append(days, strconv.Itoa(day%7))
	}
	slices.Sort(days)
	return slices.Compact(days)
}

// Notes says, each in a sentence, what the cron of a valid job means where people often
// expect something else; nil if there is nothing of that kind.
func Notes(j Job) []string {
	fields := strings.Fields(j.Cron)
	if len(fields) != 5 {
		return nil
	}
	var notes []string
	for i, unit := range []struct {
		name string
		size int
		sign string
	}{{"minutes", 60, ":%02d of the hour"}, {"hours", 24, "%02d o'clock"}} {
		if at := uneven(fields[i], unit.size); at != nil {
			notes = append(notes, fmt.Sprintf("%s is not every %d %s: it runs at %s", fields[i], at[1], unit.name, listed(at, unit.sign)))
		}
	}
	if isRestricted(fields[2]) && isRestricted(fields[4]) {
		notes = append(notes, fmt.Sprintf("it runs on the days %s of the month and also on each weekday %s, not only where both meet", fields[2], fields[4]))
	}
	return notes
}

// isRestricted reports whether a field of days excludes any. The cron library takes a star
// with a step for a restriction.
func isRestricted(field string) bool { return field != "*" && field != "?" }

// uneven lists when a field like */45 is due within size, if it leaves a shorter pause at
// the end; nil if it does not.
func uneven(field string, size int) []int {
	step, found := strings.CutPrefix(field, "*/")
	by, err := strconv.Atoi(step)
	if !found || err != nil || by < 2 || by >= size || size%by == 0 {
		return nil
	}
	var at []int
	for n := 0; n < size; n += by {
		at = append(at, n)
	}
	return at
}

// listed writes numbers for people: ":00 and :45".
func listed(at []int, sign string) string {
	form, unit, _ := strings.Cut(sign, " ")
	words := make([]string, len(at))
	for i, n := range at {
		words[i] = fmt.Sprintf(form, n)
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last] + " " + unit
}

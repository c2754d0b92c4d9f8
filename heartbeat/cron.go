package heartbeat

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// cronField is one of the five fields of a cron.
type cronField struct {
	unit     string // "minutes", for notes
	min, max int
	names    []string // of the values from min on; nil: numbers only
	sign     string   // how a value is written, and perhaps the unit
}

// cronFields are the fields in their order.
var cronFields = []cronField{
	{unit: "minutes", max: 59, sign: ":%02d of the hour"},
	{unit: "hours", max: 23, sign: "%02d o'clock"},
	{unit: "days", min: 1, max: 31, sign: "%d"},
	{unit: "months", min: 1, max: 12, names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec"), sign: "%d"},
	{unit: "weekdays", max: 6, names: strings.Fields("sun mon tue wed thu fri sat"), sign: "%d"},
}

// number reads one value of the field.
func (f *cronField) number(text string) (n int, ok bool) {
	if at := slices.Index(f.names, strings.ToLower(text)); at >= 0 {
		return f.min + at, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// text is a value as people write it.
func (f *cronField) text(n int) string {
	if f.names != nil {
		return f.names[n-f.min]
	}
	return strconv.Itoa(n)
}

// values lists when a valid field is due, in order.
func (f *cronField) values(text string) (all []int) {
	for item := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(item, "/")
		from, to, ranged := strings.Cut(span, "-")
		first, single := f.number(from)
		last, _ := f.number(to)
		by, _ := strconv.Atoi(step)
		switch {
		case !single: // a star
			first, last = f.min, f.max
		case !ranged && stepped:
			last = f.max
		case !ranged:
			last = first
		}
		for n := first; n <= last; n += max(by, 1) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// backwards says what to write instead of a range like 22-6, which the cron library
// refuses; nil if there is none.
func backwards(spec string) error {
	fields := strings.Fields(spec)
	if len(fields) != len(cronFields) {
		return nil
	}
	for i := range cronFields {
		f := &cronFields[i]
		for item := range strings.SplitSeq(fields[i], ",") {
			span, step, stepped := strings.Cut(item, "/")
			from, to, ranged := strings.Cut(span, "-")
			first, ok1 := f.number(from)
			last, ok2 := f.number(to)
			if !ranged || !ok1 || !ok2 || first <= last || last < f.min || first > f.max {
				continue
			}
			if stepped {
				return fmt.Errorf("%s goes backwards: list the %s, without the step /%s", item, f.unit, step)
			}
			return fmt.Errorf("%s goes backwards: write %s,%s", item, f.span(first, f.max), f.span(f.min, last))
		}
	}
	return nil
}

// span writes a range of values.
func (f *cronField) span(first, last int) string {
	if first == last {
		return f.text(first)
	}
	return f.text(first) + "-" + f.text(last)
}

// errNever: no date has the days and months of a cron.
var errNever = errors.New("there is no such day in the next years, so it would never run")

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

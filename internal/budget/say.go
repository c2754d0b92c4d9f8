package budget

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"dragoman/internal/admission"
)

// period is what a limit is for.
type period int

const (
	day period = iota
	month
)

// verdict ends a turn because a has used up what it may in a period.
func (r *rule) verdict(a account, p period, limit float64, at time.Time) admission.Verdict {
	v := admission.End(r.sentence(a, p, limit, at))
	v.Again = r.next(p, at)
	return v
}

// sentence says that a has used up what it may in a period, and when that is over.
func (r *rule) sentence(a account, p period, limit float64, at time.Time) string {
	of, on := "today's", ""
	next := r.next(p, at)
	if p == month {
		of, on = "this month's", " on "+next.Format("2 January")
	}
	whose := ""
	switch a.scope {
	case ofPerson:
		whose = " for you"
	case ofChat:
		whose = " for this chat"
	case ofJob:
		whose = " for the job " + a.job()
	}
	return fmt.Sprintf("I have used %s %s%s. I go on at %s%s%s, or ask whoever runs me.", of, r.limits.amount(limit), whose, next.Format("15:04"), on, r.place())
}

// next is when the period after that of at begins.
func (r *rule) next(p period, at time.Time) time.Time {
	y, m, d := at.In(r.zone).Date()
	if p == month {
		return time.Date(y, m+1, 1, 0, 0, 0, 0, r.zone)
	}
	return time.Date(y, m, d+1, 0, 0, 0, 0, r.zone)
}

// place names the time zone as people do: " (Berlin)"; nothing if its name is unknown.
func (r *rule) place() string {
	name := r.zone.String()
	if name == "Local" {
		return ""
	}
	name = name[strings.LastIndexByte(name, '/')+1:]
	return " (" + strings.ReplaceAll(name, "_", " ") + ")"
}

// amount is a limit as people read it: "2.00" or "50,000 tokens".
func (s *Settings) amount(limit float64) string {
	if s.Unit != Tokens {
		return fmt.Sprintf("%.2f", limit)
	}
	digits := strconv.FormatInt(int64(limit), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " tokens"
}

package budget

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"dragoman/heartbeat"
	"dragoman/internal/admission"
)

// period is what a limit is for.
type period int

const (
	day period = iota
	month
)

// keptLook is how often a parked turn looks whether the budget goes on, if nobody says so.
const keptLook = time.Hour

// verdict ends t because over is used up, or parks it if it has not begun and messages are
// kept; nil: nothing is used up.
func (r *rule) verdict(ctx context.Context, t admission.Turn, over *share, begun bool) admission.Verdict {
	if over == nil {
		return admission.Verdict{}
	}
	keep := r.limits.Keep && t.Parks && !begun
	then := ""
	switch {
	case keep:
		then = " and answer you then"
	case over.scope != ofJob:
		then = ": write again then" // the message is not kept
	}
	v := admission.End(fmt.Sprintf("I have used %s. I go on at %s%s, or %s.", r.whole(*over), r.when(ctx, t, over.period), then, r.otherwise(ctx, t)))
	v.Again = r.next(over.period, t.At)
	if keep {
		v.Until = t.At.Add(keptLook)
		if v.Again.Before(v.Until) {
			v.Until = v.Again
		}
	}
	return v
}

// otherwise is what whoever reads it can do meanwhile: whoever runs Dragoman can change the
// limit, and others can ask them. The directory of people is not worth an error here.
func (r *rule) otherwise(ctx context.Context, t admission.Turn) string {
	const unknown = "ask whoever runs me"
	if r.with.Operator == nil {
		return unknown
	}
	name, identity := r.with.Operator(ctx)
	if name == "" {
		return unknown
	}
	operator, err := r.with.People.Person(ctx, identity)
	reader, failed := r.with.People.Person(ctx, t.Owner)
	if err == nil && failed == nil && reader == operator {
		return "raise limits.budgets"
	}
	return "ask " + name
}

// whole names all of a budget: "today's 2.00 for you".
func (r *rule) whole(s share) string {
	of := "today's"
	if s.period == month {
		of = "this month's"
	}
	return of + " " + r.limits.amount(s.limit) + [...]string{ofPerson: " for you", ofChat: " for this chat", ofJob: " for the job " + s.job(), ofAll: " for everybody"}[s.scope]
}

// when says when the period of t ends, on the clock of whoever reads it: in a private chat
// the person's.
func (r *rule) when(ctx context.Context, t admission.Turn, p period) string {
	zone := r.with.Zone
	if t.Private && t.Owner != "" && r.with.ZoneOf != nil {
		zone = r.with.ZoneOf(ctx, t.Owner)
	}
	next := r.next(p, t.At).In(zone)
	on := ""
	if p == month {
		on = " on " + next.Format("2 January")
	}
	return next.Format("15:04") + on + heartbeat.Place(zone)
}

// next is when the period after that of at begins.
func (r *rule) next(p period, at time.Time) time.Time {
	y, m, d := at.In(r.with.Zone).Date()
	if p == month {
		return time.Date(y, m+1, 1, 0, 0, 0, 0, r.with.Zone)
	}
	return time.Date(y, m, d+1, 0, 0, 0, 0, r.with.Zone)
}

// amount is a sum as people read it: "2.00" or "50,000 tokens".
func (s *Settings) amount(units int64) string {
	if s.Unit == Tokens {
		return s.number(units) + " tokens"
	}
	return s.number(units)
}

// number is amount without the unit.
func (s *Settings) number(units int64) string {
	if s.Unit != Tokens {
		return fmt.Sprintf("%.2f", float64(units)/billion)
	}
	return Grouped(units)
}

// Grouped is n as people read it: "50,000".
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

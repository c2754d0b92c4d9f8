package rules

import (
	"slices"
	"strings"
	"time"

	"dragoman/sessions"
)

// Days counts messages by day. K names a conversation.
type Days[K comparable] struct {
	from, to string
	days     map[string]*dayCount[K]
}

type dayCount[K comparable] struct {
	sessions.DayCount
	seen map[K]bool
}

const dayForm = "2006-01-02"

// NewDays counts from one day to before another; zero times do not bound.
func NewDays[K comparable](from, to time.Time) *Days[K] {
	d := &Days[K]{to: "9999-99-99", days: map[string]*dayCount[K]{}}
	if !from.IsZero() {
		d.from = from.UTC().Format(dayForm)
	}
	if !to.IsZero() {
		d.to = to.UTC().Format(dayForm)
	}
	return d
}

// Add counts one message.
func (d *Days[K]) Add(k K, at time.Time, usage *sessions.Usage) {
	day := at.UTC().Format(dayForm)
	if day < d.from || day >= d.to {
		return
	}
	c := d.days[day]
	if c == nil {
		c = &dayCount[K]{sessions.DayCount{Day: day}, map[K]bool{}}
		d.days[day] = c
	}
	c.Messages++
	c.seen[k] = true
	if usage != nil {
		c.Usage.Add(*usage)
	}
}

// Counts are the days with a message, oldest first.
func (d *Days[K]) Counts() []sessions.DayCount {
	var list []sessions.DayCount
	for _, c := range d.days {
		c.Conversations = len(c.seen)
		list = append(list, c.DayCount)
	}
	slices.SortFunc(list, func(a, b sessions.DayCount) int { return strings.Compare(a.Day, b.Day) })
	return list
}

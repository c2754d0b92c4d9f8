package usage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dragoman/sessions"
)

// Sums reads what was counted; engine.Store is one.
type Sums interface {
	Sums(ctx context.Context, f sessions.SumFilter) ([]sessions.Count, error)
}

// By says what the rows of a report are.
type By string

// What reports are by.
const (
	ByDay    By = "day"
	ByModel  By = "model"
	ByPerson By = "person"
	ByChat   By = "chat"
	ByJob    By = "job"
)

// Query chooses what a report is about.
type Query struct {
	By By
	// From and To are days, both inclusive, as [time.DateOnly].
	From, To string
	// Owners are the people whose usage is asked for; nil: everybody.
	Owners []string
	// Person returns who an identity belongs to. Nil: itself.
	Person func(ctx context.Context, identity string) (string, error)
	// Skip is how many rows are left out at the beginning, and Limit how many there may be;
	// what follows is summed up as Others. By day there are all.
	Skip, Limit int
}

// Row is what one person, chat or model used, or what was used on one day.
type Row struct {
	// Name is a person's ID, a key, a model's name, or a day.
	Name string
	Used
	// Days are the days on which any of it was used, the oldest first; none by day.
	Days []Day
}

// Day is what was used on one day.
type Day struct {
	Day string // as [time.DateOnly]
	Used
}

// Report is what was used.
type Report struct {
	// Since is the first day of which there is anything; "": of none.
	Since string
	Total Used
	// Rows have the most tokens first; by day the oldest day.
	Rows []Row
	// Others are what Rows leave out.
	Others Used
}

// Read makes a report.
func Read(ctx context.Context, s Sums, q Query) (Report, error) {
	b := builder{q: q, rows: map[string]map[string]*Used{}}
	for i, kind := range kinds {
		filters := []sessions.SumFilter{{Kind: kind}}
		if q.Owners != nil {
			filters = filters[:0]
			for _, owner := range q.Owners {
				filters = append(filters, sessions.SumFilter{Kind: kind, Owner: owner})
			}
		}
		for _, f := range filters {
			list, err := s.Sums(ctx, f)
			if err != nil {
				return Report{}, fmt.Errorf("usage: read: %w", err)
			}
			for _, c := range list {
				if err := b.add(ctx, i, c); err != nil {
					return Report{}, fmt.Errorf("usage: read: %w", err)
				}
			}
		}
	}
	return b.report(), nil
}

// builder collects sums.
type builder struct {
	q     Query
	since string
	rows  map[string]map[string]*Used // by name and day
}

// name is the row that the sums of an owner belong to; "": they are of another kind of
// owner.
func (b *builder) name(ctx context.Context, owner string) (string, error) {
	model, isModel := strings.CutPrefix(owner, modelPrefix)
	chat, isChat := strings.CutPrefix(owner, "chat:")
	job := sessions.JobOf(owner)
	isPerson := !isModel && !isChat && job == owner
	switch {
	case b.q.Owners != nil: // of people, and by day or as one row
		return b.q.Owners[0], nil
	case b.q.By == ByModel && isModel, b.q.By == ByDay && isModel:
		return model, nil
	case b.q.By == ByChat && isChat:
		return chat, nil
	case b.q.By == ByJob && job != owner:
		return job, nil
	case b.q.By == ByPerson && isPerson && b.q.Person != nil:
		return b.q.Person(ctx, owner)
	case b.q.By == ByPerson && isPerson:
		return owner, nil
	}
	return "", nil
}

// add adds a sum of the kind with that number.
func (b *builder) add(ctx context.Context, kind int, c sessions.Count) error {
	name, err := b.name(ctx, c.Owner)
	if err != nil || name == "" {
		return err
	}
	day := c.Day[:4] + "-" + c.Day[4:6] + "-" + c.Day[6:]
	if b.since == "" || day < b.since {
		b.since = day
	}
	if day < b.q.From || day > b.q.To {
		return nil
	}
	if b.q.By == ByDay {
		name = day
	}
	days := b.rows[name]
	if days == nil {
		days = map[string]*Used{}
		b.rows[name] = days
	}
	u := days[day]
	if u == nil {
		u = &Used{}
		days[day] = u
	}
	n := int(c.N)
	u.Add([...]Used{
		{Turns: n},
		{Usage: sessions.Usage{Input: n}},
		{Usage: sessions.Usage{Output: n}},
		{Usage: sessions.Usage{Cached: n}},
		{Usage: sessions.Usage{Cost: float64(c.N) / billion}},
		{Tools: n},
	}[kind])
	return nil
}

// report is the report of what was added.
func (b *builder) report() Report {
	r := Report{Since: b.since, Rows: []Row{}}
	for name, days := range b.rows {
		row := Row{Name: name}
		for _, day := range slices.Sorted(maps.Keys(days)) {
			row.Used.Add(*days[day])
			if b.q.By != ByDay {
				row.Days = append(row.Days, Day{Day: day, Used: *days[day]})
			}
		}
		r.Total.Add(row.Used)
		r.Rows = append(r.Rows, row)
	}
	if b.q.By == ByDay {
		slices.SortFunc(r.Rows, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
		return r
	}
	slices.SortFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Input+b.Output, a.Input+a.Output), cmp.Compare(b.Turns, a.Turns), strings.Compare(a.Name, b.Name))
	})
	r.Rows = r.Rows[min(b.q.Skip, len(r.Rows)):]
	if b.q.Limit > 0 && len(r.Rows) > b.q.Limit {
		for _, row := range r.Rows[b.q.Limit:] {
			r.Others.Add(row.Used)
		}
		r.Rows = r.Rows[:b.q.Limit]
	}
	return r
}

// Range is the days from and to, or the default of the last thirty days before now.
// Errors say which is wrong.
func Range(from, to string, now time.Time) (first, last string, err error) {
	last = cmp.Or(to, now.Format(time.DateOnly))
	end, err := time.Parse(time.DateOnly, last)
	if err != nil {
		return "", "", fmt.Errorf("%q is no day like 2026-11-29", last)
	}
	first = cmp.Or(from, end.AddDate(0, 0, -29).Format(time.DateOnly))
	if _, err := time.Parse(time.DateOnly, first); err != nil {
		return "", "", fmt.Errorf("%q is no day like 2026-11-29", first)
	}
	if first > last {
		return "", "", fmt.Errorf("the days begin with %s and end before, with %s", first, last)
	}
	return first, last, nil
}

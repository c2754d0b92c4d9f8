package api

import (
	"context"
	"slices"
	"strconv"

	"dragoman/internal/usage"
)

// UsageQuery chooses what was used on which days: From and To, both inclusive, like
// 2026-11-29. Without them: the last thirty days.
type UsageQuery struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// UsageBy is a UsageQuery about everybody.
type UsageBy struct {
	// By says what the rows are: day, model, person, chat or job. Default: day.
	By   string `json:"by,omitempty"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Person is an identity whose usage alone is asked for, by day.
	Person string `json:"person,omitempty"`
	// After is the Next of the page before.
	After string `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"` // of rows, 1 to 200; left out: 100
	// Days adds to each row what was used on each day.
	Days bool `json:"days,omitempty"`
}

// Used is what turns used. Cost is 0 where no prices are known.
type Used struct {
	Turns     int `json:"turns"`
	ToolCalls int `json:"tool_calls"`
	Usage
}

// UsedRow is what one person, chat or model used, or what was used on one day.
type UsedRow struct {
	// Name is a day like 2026-11-29, a model's name, a conversation's key, or a person: an
	// identity, or the one that stands for all that were joined with it.
	Name string `json:"name"`
	Used
	Days []UsedDay `json:"days,omitempty"` // without those of which there is nothing
}

// UsedDay is what was used on one day.
type UsedDay struct {
	Day string `json:"day"`
	Used
}

// UsageReport is what was used from one day to another.
type UsageReport struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Zone is the time zone of the days: agent.time_zone, or that of the machine; "Local" if
	// nobody knows its name.
	Zone string `json:"zone"`
	// Since is the first day of which anything is known; "": nothing is. Of days that are
	// more than three months old there is one sum a month, on its first day.
	Since string    `json:"since,omitempty"`
	Total Used      `json:"total"`
	Rows  []UsedRow `json:"rows"` // the most tokens first; days in their order
	// Others are what the rows after the last one used, and Next is the After of their page.
	Others *Used  `json:"others,omitempty"`
	Next   string `json:"next,omitempty"`
}

func (s *server) usage(ctx context.Context, q UsageBy) (UsageReport, error) {
	by := usage.By(q.By)
	if by == "" {
		by = usage.ByDay
	}
	if !slices.Contains([]usage.By{usage.ByDay, usage.ByModel, usage.ByPerson, usage.ByChat, usage.ByJob}, by) {
		return UsageReport{}, refuse("by", "by is day, model, person, chat or job")
	}
	asked := usage.Query{By: by, Limit: page(q.Limit), Person: s.Directory.Person}
	if q.After != "" {
		n, err := strconv.Atoi(q.After)
		if err != nil || n < 1 {
			return UsageReport{}, refuse("after", "after is the next of the page before")
		}
		asked.Skip = n
	}
	if q.Person != "" {
		if by != usage.ByDay {
			return UsageReport{}, refuse("person", "what a person used is told by day")
		}
		owners, err := s.Directory.Owners(ctx, q.Person)
		if err != nil {
			return UsageReport{}, err
		}
		asked.Owners = owners
	}
	return s.readUsage(ctx, asked, UsageQuery{q.From, q.To}, q.Days)
}

// ownUsage is what the caller used, in all conversations; at a port without tokens, in rooms.
func (s *server) ownUsage(ctx context.Context, q UsageQuery) (UsageReport, error) {
	who := caller(ctx)
	owners, err := s.Directory.Owners(ctx, who.ID)
	if err != nil {
		return UsageReport{}, err
	}
	owners = s.shownTo(who, owners)
	return s.readUsage(ctx, usage.Query{By: usage.ByDay, Owners: owners}, q, false)
}

func (s *server) readUsage(ctx context.Context, q usage.Query, days UsageQuery, each bool) (UsageReport, error) {
	var err error
	q.From, q.To, err = usage.Range(days.From, days.To, s.Now().In(s.Zone))
	if err != nil {
		return UsageReport{}, refuse("from", "%s", err)
	}
	got, err := usage.Read(ctx, s.Store, q)
	if err != nil {
		return UsageReport{}, err
	}
	r := UsageReport{From: q.From, To: q.To, Zone: s.Zone.String(), Since: got.Since, Total: usedOf(got.Total), Rows: []UsedRow{}}
	for _, row := range got.Rows {
		one := UsedRow{Name: row.Name, Used: usedOf(row.Used)}
		for _, d := range row.Days {
			if each {
				one.Days = append(one.Days, UsedDay{Day: d.Day, Used: usedOf(d.Used)})
			}
		}
		r.Rows = append(r.Rows, one)
	}
	if got.Others != (usage.Used{}) {
		r.Others = new(usedOf(got.Others))
		r.Next = strconv.Itoa(q.Skip + len(got.Rows))
	}
	return r, nil
}

func usedOf(u usage.Used) Used {
	return Used{Turns: u.Turns, ToolCalls: u.Tools, Usage: Usage(u.Usage)}
}

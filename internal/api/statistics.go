package api

import (
	"context"
	"slices"
	"time"

	"dragoman/sessions"
)

// Numbers are statistics of the conversations.
type Numbers struct {
	Days []Day          `json:"days"` // the last seven, without gaps
	Top  []Conversation `json:"top"`  // by tokens
}

// Day counts the messages of one day, UTC.
type Day struct {
	Day           string `json:"day"` // 2026-11-21
	Conversations int    `json:"conversations"`
	Messages      int    `json:"messages"`
	Usage         Usage  `json:"usage"`
}

const numbersDays = 7

func (s *server) numbers(ctx context.Context, _ None) (n Numbers, err error) {
	today := s.Now().UTC().Truncate(24 * time.Hour)
	from, to := today.AddDate(0, 0, 1-numbersDays), today.AddDate(0, 0, 1)
	counted, err := s.Store.Days(ctx, from, to)
	if err != nil {
		return n, err
	}
	n.Top = []Conversation{}
	for day := from; day.Before(to); day = day.AddDate(0, 0, 1) {
		d := sessions.DayCount{Day: day.Format(time.DateOnly)}
		if i := slices.IndexFunc(counted, func(c sessions.DayCount) bool { return c.Day == d.Day }); i >= 0 {
			d = counted[i]
		}
		n.Days = append(n.Days, Day{Day: d.Day, Conversations: d.Conversations, Messages: d.Messages, Usage: Usage(d.Usage)})
	}
	top, err := s.Store.Top(ctx, 10)
	if err != nil {
		return n, err
	}
	for _, c := range top {
		l, err := s.listed(ctx, c)
		if err != nil {
			return n, err
		}
		n.Top = append(n.Top, l)
	}
	return n, nil
}
